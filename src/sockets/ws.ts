// The commands of `/ws`. The type comes from the contract: a missing, extra or mistyped handler does not compile.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { Connection } from './connection.ts'
import { jobCommands } from './ws-jobs.ts'
import { reads } from './ws-reads.ts'

export const handlers: WsCommandHandlers<Connection> = {
  ...jobCommands,
  ...reads,

  set_mode({ data }, connection) {
    // The acknowledgement still uses the old mode.
    connection.send({ type: 'mode_set', mode: data.mode })
    connection.mode = data.mode
  },

  ping(_command, connection) {
    connection.send({ type: 'pong', ts: connection.app.platform.now() })
  },
}
