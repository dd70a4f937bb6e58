"""Table of control files, which a common tool runs or trusts without asking, with reasons.

An agent that writes one of these gains power over a person's machine, over the build, or over
itself. Such a write needs an approval, whatever `writable` says. A row names files or folders at
any depth, in any spelling; a folder covers everything below it."""

from __future__ import annotations

from typing import Final, NamedTuple

from sutler.scan.ignore import DENIALS, SELECTION


class ControlFiles(NamedTuple):
    """Name globs with a common reason. `files`: they do not name folders, such as `build/`."""

    reason: str
    globs: tuple[str, ...]
    files: bool = False


def _row(reason: str, names: str) -> ControlFiles:
    return ControlFiles(reason, tuple(names.split()))


_ENDINGS: Final = ("js", "cjs", "mjs", "ts", "cts", "mts")

TABLE: Final = (
    _row(
        "instructions and permissions of agents",
        ".mcp.json mcp.json .cursor .claude .codex .gemini .windsurf .continue .aider* .roo .kiro "
        ".amazonq .junie .goose .goosehints .opencode opencode.json .crush .augment .trae .qwen "
        ".openhands .agents .warp CLAUDE.md CLAUDE.local.md AGENTS.md AGENT.md GEMINI.md QWEN.md "
        "WARP.md .cursorrules .windsurfrules .clinerules .roorules .sutler sutler.toml .claw "
        "claw.yaml",
    ),
    ControlFiles("rules about what leaves or is packed", (*SELECTION, *DENIALS)),
    _row(
        "editors load it with the folder",
        ".vscode .idea .fleet .zed .vs .run *.code-workspace *.sublime-project .nbproject "
        ".settings .vimrc _vimrc .gvimrc .exrc .nvimrc .nvim.lua .vim .emacs .emacs.d "
        ".dir-locals.el .nanorc .ycm_extra_conf.py .devcontainer .devcontainer.json .gitpod.yml "
        "devfile.yaml",
    ),
    _row(
        "shells, terminals and debuggers read it when they start",
        ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv .zprofile "
        ".zlogin .profile .login .cshrc .tcshrc .kshrc config.fish .inputrc .direnv .mise.toml "
        "mise.toml .tool-versions .tmux.conf .screenrc .xinitrc .xprofile .xsession .curlrc "
        ".wgetrc .gdbinit .lldbinit .pdbrc .irbrc .pryrc .ghci .ocamlinit .iex.exs .Rprofile "
        ".Renviron .pythonrc ipython_config.py jupyter_*config.py .sdkmanrc",
    ),
    _row(
        "continuous integration runs it",
        ".github .gitlab .gitlab-ci* .circleci .buildkite .drone.yml .travis.yml Jenkinsfile* "
        "azure-pipelines* bitbucket-pipelines.yml .woodpecker* .cirrus.yml .cirrus.star "
        "appveyor.yml .appveyor.yml cloudbuild.y* .semaphore .teamcity codefresh.yml buildspec.y* "
        "netlify.toml vercel.json .forgejo .gitea .builds .build.yml .goreleaser* renovate.json "
        ".renovaterc* .earthly Earthfile skaffold.yaml .tekton",
    ),
    _row(
        "git runs or trusts it",
        ".pre-commit-config.yaml .pre-commit-hooks.yaml .husky .huskyrc* .githooks lefthook.* "
        ".lefthook* .overcommit.yml .lintstagedrc* .gitattributes .gitmodules .gitconfig .hgrc",
    ),
    _row(
        "build scripts and wrappers that are run by name",
        "Makefile Makefile.am Makefile.in GNUmakefile *.mk CMakeLists.txt *.cmake "
        "CMakePresets.json CMakeUserPresets.json configure.ac configure.in autogen.sh "
        "bootstrap.sh meson.build meson_options.txt SConstruct SConscript wscript conanfile.py "
        "gradlew gradlew.bat gradle-wrapper.* *.gradle *.gradle.kts gradle.properties buildSrc "
        "mvnw mvnw.cmd .mvn pom.xml build.xml *.sbt .jvmopts .sbtopts build.rs .cargo Cargo.toml "
        "rust-toolchain* build.zig Package.swift mix.exs .formatter.exs Setup.hs cabal.project "
        "stack.yaml Makefile.PL Build.PL build.jl dune-project",
    ),
    _row(
        "Bazel, Buck, Pants, Nix and .NET evaluate it",
        ".bazelrc .bazelversion BUILD.bazel WORKSPACE.* MODULE.bazel *.bzl .buckconfig pants.toml "
        "Tiltfile flake.nix shell.nix default.nix Directory.Build.* *.csproj *.fsproj *.vbproj "
        "*.targets *.props nuget.config global.json",
    ),
    _row(
        "Python imports or runs it without being asked",
        "conftest.py *.pth sitecustomize.py usercustomize.py setup.py setup.cfg pyproject.toml "
        "tox.ini noxfile.py pytest.ini mypy.ini .mypy.ini .pylintrc pylintrc .flake8 .coveragerc "
        "tasks.py fabfile.py dodo.py hatch_build.py pixi.toml",
    ),
    _row(
        "Node and its tools run it",
        "package.json .yarn .yarnrc .pnpmfile.cjs pnpm-workspace.yaml .pnp.* .eslintrc* "
        ".prettierrc* .babelrc* .mocharc* .stylelintrc* .commitlintrc* .swcrc .nycrc* gulpfile.* "
        "Gruntfile.* karma.conf.* wdio.conf.* protractor.conf.* angular.json nx.json turbo.json "
        "lerna.json deno.json deno.jsonc bunfig.toml vitest.workspace.* .ncurc*",
    ),
    ControlFiles(
        "configuration that build tools and test runners execute",
        tuple(
            f"{stem}{end}" for stem in ("*.config.", "*.conf.", "webpack.*.") for end in _ENDINGS
        ),
    ),
    _row(
        "Ruby and PHP tools run it",
        "Rakefile Gemfile *.gemspec .rspec Guardfile Capfile Berksfile Podfile Fastfile "
        "Dangerfile Brewfile Thorfile .rubocop.yml composer.json .php-cs-fixer* phpunit.xml* "
        "phpstan.neon*",
    ),
    _row(
        "task runners, containers and services start it",
        "justfile .justfile Taskfile.* Procfile* mprocs.yaml Dockerfile Dockerfile.* "
        "Containerfile docker-compose* compose*.yaml compose*.yml Vagrantfile devbox.json "
        "ansible.cfg terragrunt.hcl *.service *.timer *.socket *.desktop .forward .rhosts "
        "authorized_keys autorun.inf",
    ),
    _row(
        "build tools and schedulers read a file of this name",
        "BUILD WORKSPACE BUCK configure crontab",
    )._replace(files=True),
)
"""By reason. A name has one row."""

FILES: Final = tuple(glob for row in TABLE if row.files for glob in row.globs)
ANYWHERE: Final = tuple(glob for row in TABLE if not row.files for glob in row.globs)
