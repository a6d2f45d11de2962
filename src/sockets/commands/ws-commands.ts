// The commands of `/ws`. The type comes from the contract: a missing, extra or mistyped handler does not compile.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import { chatCommandHandlers } from './chat.ts'
import type { CommandConnection } from './command-connection.ts'
import { discoveryCommandHandlers } from './discovery.ts'
import { handleInference } from './inference.ts'
import { jobCommandHandlers } from './jobs.ts'
import { lifecycleJobCommandHandlers } from './lifecycle-jobs.ts'
import { readCommandHandlers } from './resource-reads.ts'
import { handleResumeJob } from './resume-job.ts'

export const wsCommandHandlers: WsCommandHandlers<CommandConnection> = {
  ...jobCommandHandlers,
  ...chatCommandHandlers,
  ...readCommandHandlers,
  ...discoveryCommandHandlers,
  ...lifecycleJobCommandHandlers,
  resume_job: handleResumeJob,
  inference: handleInference,

  /** Checks a run before it is started: the same service as its HTTP twin. */
  preflight_workflow: (data, { app, principal, closed }, late) =>
    app.runs.preflight.report(principal, data, AbortSignal.any([closed, late])),

  set_mode({ data, request_id }, connection) {
    // The acknowledgement still uses the old mode.
    const message = `Frames are sent as ${data.mode === 'text' ? 'JSON text' : 'MessagePack'} from now on.`
    connection.send({ message, mode: data.mode, ...(request_id ? { request_id } : {}) })
    connection.mode = data.mode
  },

  ping({ request_id }, connection) {
    connection.send({ type: 'pong', ts: connection.app.platform.now(), ...(request_id ? { request_id } : {}) })
  },
}
