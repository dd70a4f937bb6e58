"""Small hand-written manifests: native."""

from __future__ import annotations

from .surveying import dependencies, only, survey


def test_cmake_conan_and_vcpkg() -> None:
    cmake = """project(engine VERSION 1.0 DESCRIPTION "An engine" LANGUAGES CXX)
find_package(Boost 1.80 REQUIRED) # find_package(Not)
find_package(GTest REQUIRED)
FetchContent_Declare(fmt GIT_REPOSITORY x GIT_TAG 10.2.1)
add_executable(engine src/main.cpp)
enable_testing()
"""
    found = survey(
        {
            "CMakeLists.txt": cmake,
            "src/main.cpp": "",
            "conanfile.txt": "[requires]\nzlib/1.3.1\n[generators]\nCMakeDeps\n",
            "vcpkg.json": '{"dependencies": ["curl", {"name": "sdl2", "version>=": "2.30"}]}',
        }
    )
    assert (found.manifest.project_name, found.manifest.project_type) == ("engine", "cpp")
    assert (found.manifest.build_system, found.manifest.test_framework) == ("cmake", "googletest")
    assert (found.manifest.purpose_guess, found.manifest.entry_points) == (
        "An engine",
        ("src/main.cpp",),
    )
    assert dependencies(found) == [
        ("Boost", "runtime", "1.80"),
        ("curl", "runtime", ""),
        ("fmt", "runtime", "10.2.1"),
        ("sdl2", "runtime", ">=2.30"),
        ("zlib", "runtime", "1.3.1"),
        ("GTest", "dev", ""),
    ]


def test_meson_make_and_autoconf() -> None:
    meson = "project('tool', 'c', version: '1')\nglib = dependency('glib-2.0', version: '>= 2.60')\nexecutable('tool', 'main.c')\ntest('t', x)\n"
    found = survey({"meson.build": meson, "main.c": ""})
    assert (found.manifest.project_type, found.manifest.build_system) == ("c", "meson")
    assert dependencies(found) == [("glib-2.0", "runtime", ">= 2.60")]
    assert found.manifest.test_framework == "meson test"
    make = survey({"Makefile": "all:\n\t$(CC) -o x x.c\n", "x.c": ""})
    assert (make.manifest.project_type, make.manifest.build_system) == ("c", "make")
    autoconf = survey(
        {
            "configure.ac": "AC_INIT([hello], [1.0])\nPKG_CHECK_MODULES([X], [libxml-2.0 >= 2.9])\n",
            "h.c": "",
        }
    )
    assert (autoconf.manifest.project_name, autoconf.manifest.build_system) == (
        "hello",
        "autotools",
    )
    assert dependencies(autoconf) == [("libxml-2.0", "runtime", ">= 2.9")]


def test_conanfile_py() -> None:
    text = 'class X(ConanFile):\n    requires = "fmt/10.2.1"\n    def requirements(self):\n        self.requires("spdlog/1.14.0")\n        self.test_requires("gtest/1.14")\n'
    found = only({"conanfile.py": text, "a.cpp": ""})
    assert [(item.name, item.type) for item in found.dependencies] == [
        ("fmt", "runtime"),
        ("spdlog", "runtime"),
        ("gtest", "dev"),
    ]


def test_swift() -> None:
    text = """// swift-tools-version:5.9
let package = Package(name: "Tool", dependencies: [
  .package(url: "https://example.com/apple/swift-nio.git", from: "2.60.0"),
  .package(url: "https://example.com/x/Yams", .upToNextMajor(from: "5.0.1")),
], targets: [ .executableTarget(name: "tool"), .testTarget(name: "ToolTests") ])
"""
    found = survey({"Package.swift": text, "Sources/tool/main.swift": ""})
    assert (found.manifest.project_name, found.manifest.build_system) == ("Tool", "swiftpm")
    assert (found.manifest.test_framework, found.manifest.entry_points) == (
        "xctest",
        ("Sources/tool/main.swift",),
    )
    assert dependencies(found) == [("swift-nio", "runtime", "2.60.0"), ("Yams", "runtime", "5.0.1")]
