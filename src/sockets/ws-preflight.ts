// The command of `/ws` that checks a run before it is started: the same service as its HTTP twin.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { Peer } from './peer.ts'

export const preflight: Pick<WsCommandHandlers<Peer>, 'preflight_workflow'> = {
  preflight_workflow: (data, { app, principal, closed }, late) =>
    app.preflight.report(principal, data, AbortSignal.any([closed, late])),
}
