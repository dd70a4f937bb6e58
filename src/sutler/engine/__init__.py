"""The engine: a project, looked at and packed."""

from sutler.engine.packing import Packing
from sutler.engine.place import Place, locate, project_config
from sutler.engine.problems import Ask
from sutler.engine.project import Options, Project
from sutler.engine.report import Report, Shown

__all__ = ["Ask", "Options", "Packing", "Place", "Project", "Report", "Shown", "locate", "project_config"]
