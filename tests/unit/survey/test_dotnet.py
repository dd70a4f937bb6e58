"""Small hand-written manifests: dotnet."""

from __future__ import annotations

from .surveying import dependencies, survey


def test_csharp_with_central_versions() -> None:
    files = {
        "App.sln": 'Project("{F}") = "App", "src\\App\\App.csproj", "{G}"\nEndProject\n'
        'Project("{F}") = "T", "test\\T\\T.csproj", "{H}"\nEndProject\n',
        "Directory.Packages.props": '<Project><ItemGroup><PackageVersion Include="Serilog" Version="3.1"/></ItemGroup></Project>',
        "src/App/App.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><Description>Web.</Description></PropertyGroup>'
        '<ItemGroup><PackageReference Include="Serilog"/><PackageReference Include="Dapper" Version="2.1"/></ItemGroup></Project>',
        "src/App/Program.cs": "",
        "test/T/T.csproj": '<Project><ItemGroup><PackageReference Include="xunit" Version="2.9"/></ItemGroup></Project>',
    }
    found = survey(files)
    assert (found.manifest.project_name, found.manifest.project_type) == ("App", "csharp")
    assert found.manifest.entry_points == ("src/App/Program.cs",)
    assert found.manifest.test_framework == "xunit"
    assert dependencies(found) == [
        ("Dapper", "runtime", "2.1"),
        ("Serilog", "runtime", "3.1"),
        ("xunit", "dev", "2.9"),
    ]


def test_what_a_test_project_needs_serves_development() -> None:
    files = {
        "src/A/A.csproj": '<Project><ItemGroup><PackageReference Include="Dapper" Version="2.1"/></ItemGroup></Project>',
        "src/A.Tests/A.Tests.csproj": '<Project><ItemGroup><PackageReference Include="Microsoft.NET.Test.Sdk" Version="17"/>'
        '<PackageReference Include="Newtonsoft.Json" Version="13"/></ItemGroup></Project>',
        "src/A.Benchmarks/A.Benchmarks.csproj": "<Project><PropertyGroup><OutputType>Exe</OutputType></PropertyGroup></Project>",
        "src/A.Benchmarks/Program.cs": "class Program {}",
    }
    found = survey(files)
    assert found.manifest.entry_points == ()
    assert dependencies(found) == [
        ("Dapper", "runtime", "2.1"),
        ("Microsoft.NET.Test.Sdk", "dev", "17"),
        ("Newtonsoft.Json", "dev", "13"),
    ]


def test_packages_that_all_tests_share() -> None:
    """`Directory.Build.props` adds packages to every project below its folder."""
    reference = '<Project><ItemGroup><PackageReference Include="{}"/></ItemGroup></Project>'
    found = survey(
        {
            "src/A/A.csproj": reference.format("Dapper"),
            "Directory.Build.props": reference.format("Nerdbank.GitVersioning"),
            "tests/Directory.Build.props": reference.format("xunit"),
            "tests/A.Tests/A.Tests.csproj": "<Project></Project>",
        }
    )
    assert (found.manifest.project_name, found.manifest.test_framework) == ("folder", "xunit")
    kinds = [(name, kind) for name, kind, _ in dependencies(found)]
    assert kinds == [("Dapper", "runtime"), ("Nerdbank.GitVersioning", "dev"), ("xunit", "dev")]
