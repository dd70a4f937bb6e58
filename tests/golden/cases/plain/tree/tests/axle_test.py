def test_axle() -> None:
    assert True
