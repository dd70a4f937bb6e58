"""Small hand-written manifests: jvm."""

from __future__ import annotations

from .surveying import dependencies, survey

POM = """<?xml version="1.0"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <groupId>com.x</groupId><artifactId>shop</artifactId><version>1.0</version>
  <description>Sells
     things.</description>
  <properties><jackson>2.17.0</jackson><main>com.x.App</main></properties>
  <modules><module>core</module></modules>
  <dependencyManagement><dependencies>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.10</version></dependency>
  </dependencies></dependencyManagement>
  <dependencies>
    <!-- a comment -->
    <dependency><groupId>com.fasterxml</groupId><artifactId>jackson</artifactId><version>${jackson}</version></dependency>
    <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><scope>test</scope></dependency>
    <dependency><groupId>javax</groupId><artifactId>servlet</artifactId><version>4</version><scope>provided</scope></dependency>
    <dependency><groupId>${project.groupId}</groupId><artifactId>core</artifactId></dependency>
  </dependencies>
  <build><plugins><plugin><configuration><mainClass>com.x.App</mainClass></configuration></plugin></plugins></build>
</project>"""


def test_pom() -> None:
    files = {
        "pom.xml": POM,
        "src/main/java/com/x/App.java": "class App {}",
        "core/pom.xml": "<project/>",
    }
    found = survey(files)
    manifest = found.manifest
    assert (manifest.project_name, manifest.project_type, manifest.build_system) == (
        "shop",
        "java",
        "maven",
    )
    assert (manifest.purpose_guess, manifest.test_framework) == ("Sells things.", "junit5")
    assert manifest.entry_points == ("src/main/java/com/x/App.java",)
    assert dependencies(found) == [
        ("com.fasterxml:jackson", "runtime", "2.17.0"),
        ("javax:servlet", "peer", "4"),
        ("org.junit.jupiter:junit-jupiter", "dev", "5.10"),
    ]


def test_gradle_with_a_version_catalogue() -> None:
    files = {
        "settings.gradle.kts": 'rootProject.name = "app"\ninclude(":core", ":web")\n',
        "build.gradle.kts": 'plugins { kotlin("jvm") version "2.0.0" }\n',
        "core/build.gradle.kts": 'dependencies {\n implementation(libs.ktor.core)\n api("a.b:c:1.2")\n'
        ' compileOnly("x.y:z:3")\n testImplementation(kotlin("test"))\n}\n',
        "web/build.gradle.kts": "dependencies { implementation(project(\":core\"))\n testImplementation 'junit:junit:4.13' }\n",
        "gradle/libs.versions.toml": '[versions]\nktor = "2.3"\n[libraries]\nktor-core = { module = "io.ktor:core", version.ref = "ktor" }\n',
        "core/src/main/kotlin/A.kt": "",
    }
    found = survey(files)
    assert (found.manifest.project_name, found.manifest.project_type) == ("app", "kotlin")
    assert found.manifest.build_system == "gradle"
    assert dependencies(found) == [
        ("a.b:c", "runtime", "1.2"),
        ("io.ktor:core", "runtime", "2.3"),
        ("x.y:z", "peer", "3"),
        ("junit:junit", "dev", "4.13"),
        ("org.jetbrains.kotlin:kotlin-test", "dev", ""),
    ]


def test_coordinates_that_constants_of_the_build_hold() -> None:
    files = {
        "build.gradle.kts": "dependencies { implementation(Libs.CORE_KTX) }",
        "settings.gradle.kts": "",
        "buildSrc/src/main/kotlin/Libs.kt": 'object Libs { const val CORE_KTX = "a.core:core-ktx" }',
    }
    assert dependencies(survey(files)) == [("a.core:core-ktx", "runtime", "")]
