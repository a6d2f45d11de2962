// The operation of the tag `sdk` that checks a run before it is started. The socket has the same service.
import type { SdkHandlers } from '../../generated/operations.ts'
import type { RequestContext } from './request.ts'

export const preflight: Pick<SdkHandlers<RequestContext>, 'preflightWorkflow'> = {
  async preflightWorkflow({ body }, { app, principal, signal }) {
    return { status: 200, body: await app.preflight.report(principal, body, signal) }
  },
}
