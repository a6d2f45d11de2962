// The commands of `/ws`. The type comes from the contract: a missing, extra or mistyped handler does not compile.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { Peer } from './peer.ts'
import { chatCommands } from './ws-chat.ts'
import { discovery } from './ws-discovery.ts'
import { inference } from './ws-inference.ts'
import { jobCommands } from './ws-jobs.ts'
import { lifecycleJobs } from './ws-lifecycle-jobs.ts'
import { preflight } from './ws-preflight.ts'
import { reads } from './ws-reads.ts'
import { resume_job } from './ws-resume.ts'

export const handlers: WsCommandHandlers<Peer> = {
  ...jobCommands,
  ...chatCommands,
  ...reads,
  ...discovery,
  ...preflight,
  ...lifecycleJobs,
  resume_job,
  inference,

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
