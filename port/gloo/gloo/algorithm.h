#pragma once

// Included by c10d/ProcessGroupGloo.hpp, which uses nothing of it.
