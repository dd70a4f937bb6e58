def double(n: int) -> int:
    return n + n
