"""The algorithms of 2025 and 2026 on Figures: a study beside GRPO and CPGD."""
