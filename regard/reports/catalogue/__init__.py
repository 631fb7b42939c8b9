"""The pages of every mechanism and setting, and `regard list`, made from the parts themselves."""

from regard.reports.catalogue.listing import ATTENTION_SHEET, parts_report, show_attention
from regard.reports.catalogue.page import write_catalogue
from regard.reports.catalogue.settings import write_settings_pages

__all__ = ["ATTENTION_SHEET", "parts_report", "show_attention", "write_catalogue", "write_settings_pages"]
