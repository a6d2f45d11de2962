// The operation `getMetrics` of the tag `health`.
import type { HealthHandlers } from '../../generated/operations.ts'
import type { RequestContext } from './request.ts'

export const metrics: Pick<HealthHandlers<RequestContext>, 'getMetrics'> = {
  async getMetrics(_request, { app }) {
    return { status: 200, content_type: 'text/plain', body: await app.metrics.text() }
  },
}
