from wheel import axle


def main() -> None:
    print(axle.AXLES)
