// Chat: threads, turns, and workflows as tools.
import { createOwnerRedactors } from '../chat/owner-redaction.ts'
import { ChatService } from '../chat/service.ts'
import { createWorkflowTools } from '../chat/tools/server-tools.ts'
import type { ModelServices, RunServices } from '../context.ts'
import type { Foundation } from './foundation.ts'

export function composeChat(foundation: Foundation, models: ModelServices, runs: RunServices): ChatService {
  const { overrides, platform, redactor, log, schedulers, stack } = foundation
  const chat = new ChatService({
    store: runs.store,
    slices: schedulers.slices,
    platform,
    log,
    completions: models.completions,
    choices: models,
    tool_box: createWorkflowTools(runs),
    redacting: createOwnerRedactors(redactor),
    limits: overrides.chat_limits,
  })
  // A start that fails may have left unfinished turns to store later.
  stack.defer(() => chat.turns.close())
  return chat
}
