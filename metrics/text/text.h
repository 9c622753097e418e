#pragma once

/// Metrics of texts.
