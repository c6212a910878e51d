// The subcommands of hptctl. Each function adds one to `app`; if the command line asks for it, it
// sets context->action. `context` must outlive the parsing and the action.

#ifndef CLIENT_HPTCTL_COMMANDS_H_
#define CLIENT_HPTCTL_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "client/hptctl/context.h"

namespace papr::client::hptctl {

void AddPartitionCommand(CLI::App* app, Context* context);
void AddHealthCommand(CLI::App* app, Context* context);
void AddHcallCommand(CLI::App* app, Context* context);
void AddDumpCommand(CLI::App* app, Context* context);
void AddCheckCommand(CLI::App* app, Context* context);
void AddDirtyCommand(CLI::App* app, Context* context);
void AddMappingsCommand(CLI::App* app, Context* context);
void AddHarvestCommand(CLI::App* app, Context* context);
void AddUnmapCommand(CLI::App* app, Context* context);
void AddExportCommand(CLI::App* app, Context* context);
void AddImportCommand(CLI::App* app, Context* context);
void AddReplayCommand(CLI::App* app, Context* context);
void AddConformanceCommand(CLI::App* app, Context* context);
void AddExperimentCommand(CLI::App* app, Context* context);

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_COMMANDS_H_
