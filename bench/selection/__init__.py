"""Selection quality: are the files, and the lines, that the real fix changed in the pack?"""
