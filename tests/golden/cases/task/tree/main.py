import helper

print(helper.double(2))
