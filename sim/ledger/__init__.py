"""Why a token was computed again."""
