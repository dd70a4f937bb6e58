"""Small hand-written manifests: scripting."""

from __future__ import annotations

import pytest

from .surveying import dependencies, only, survey


def test_ruby() -> None:
    gemfile = """source "x"
gem "rails", "~> 7.1", ">= 7.1.2"
gem 'pg'
group :development, :test do
  gem "rspec-rails"
end
gem "puma", group: :development
gem "redis", "5"
"""
    spec = 'Gem::Specification.new do |s|\n s.name = "tool"\n s.summary = "A gem."\n s.add_dependency "thor", "~> 1.3"\n s.add_development_dependency("rake")\n s.executables << "tool"\nend'
    found = survey(
        {
            "Gemfile": gemfile,
            "config.ru": "",
            "tool.gemspec": spec,
            "exe/tool": "",
            "lib/tool.rb": "",
        }
    )
    assert (found.manifest.project_name, found.manifest.project_type) == ("tool", "ruby")
    assert (found.manifest.build_system, found.manifest.test_framework) == ("bundler", "rspec")
    assert found.manifest.entry_points == ("config.ru", "exe/tool", "lib/tool.rb")
    assert dependencies(found) == [
        ("pg", "runtime", ""),
        ("rails", "runtime", "~> 7.1, >= 7.1.2"),
        ("redis", "runtime", "5"),
        ("thor", "runtime", "~> 1.3"),
        ("puma", "dev", ""),
        ("rake", "dev", ""),
        ("rspec-rails", "dev", ""),
    ]


def test_php() -> None:
    text = """{"name": "a/b", "description": "Shop.", "require": {"php": ">=8.2", "ext-json": "*", "laravel/framework": "^11"},
      "require-dev": {"phpunit/phpunit": "^11"}, "bin": ["bin/shop"]}"""
    found = survey({"composer.json": text, "bin/shop": "", "public/index.php": "", "artisan": ""})
    assert (found.manifest.project_type, found.manifest.build_system) == ("php", "composer")
    assert found.manifest.test_framework == "phpunit"
    assert found.manifest.entry_points == ("bin/shop", "artisan", "public/index.php")
    assert dependencies(found) == [
        ("laravel/framework", "runtime", "^11"),
        ("phpunit/phpunit", "dev", "^11"),
    ]


def test_elixir() -> None:
    text = """defmodule Shop.MixProject do
  def project, do: [app: :shop, description: "A shop.", deps: deps()]
  def application, do: [mod: {Shop.Application, []}]
  defp deps do
    [
      {:phoenix, "~> 1.7"},
      # {:old, "1"},
      {:credo, "~> 1.7", only: [:dev, :test], runtime: false},
      {:sibling, in_umbrella: true}
    ]
  end
end
"""
    found = survey({"mix.exs": text, "lib/shop/application.ex": "", "test/shop_test.exs": ""})
    assert (found.manifest.project_name, found.manifest.purpose_guess) == ("shop", "A shop.")
    assert (found.manifest.build_system, found.manifest.test_framework) == ("mix", "exunit")
    assert found.manifest.entry_points == ("lib/shop/application.ex",)
    assert dependencies(found) == [("phoenix", "runtime", "~> 1.7"), ("credo", "dev", "~> 1.7")]


@pytest.mark.parametrize("file", ["lib/web_shop/app.ex", "lib/webshop/app.ex"])
def test_a_module_of_two_words_has_its_file_with_or_without_an_underscore(file: str) -> None:
    text = "defmodule M do\n  def application, do: [mod: {WebShop.App, []}]\nend\n"
    assert survey({"mix.exs": text, file: ""}).manifest.entry_points == (file,)


def test_a_gemfile_beside_a_gemspec_is_for_developers() -> None:
    found = only({"Gemfile": 'gemspec\ngem "minitest"\n'})
    assert [(item.name, item.type) for item in found.dependencies] == [("minitest", "dev")]
    assert found.test_framework == "minitest"


def test_a_description_between_triple_quotes() -> None:
    text = 'def project do\n [app: :oar,\n  description: """\n  Rows a boat\n  """,\n  deps: deps()]\nend\n'
    assert only({"mix.exs": text}).description == "Rows a boat"


@pytest.mark.parametrize(
    ("files", "framework"),
    [
        ({"Makefile": "test:\n\tnvim -c PlenaryBustedDirectory lua/tests\n"}, "plenary"),
        ({"package.json": '{"scripts": {"test": "urchin test"}}', "a.sh": "a\n"}, "urchin"),
        ({"Makefile": "test:\n\tbats test\n", "test/a.bats": "x\n"}, "bats"),
    ],
)
def test_a_framework_that_only_a_command_names(files: dict[str, str], framework: str) -> None:
    assert survey(files).manifest.test_framework == framework
