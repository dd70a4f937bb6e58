"""The engine: a project, looked at and packed."""

from sutler.engine.packing import Packing
from sutler.engine.place import Place, locate, project_config
from sutler.engine.problems import Ask
from sutler.engine.project import Project
from sutler.engine.report import Report, Shown

__all__ = ["Ask", "Packing", "Place", "Project", "Report", "Shown", "locate", "project_config"]
