// Operations of the tag `health`.
import type { HealthHandlers } from '../../../generated/operations.ts'
import type { AppContext } from '../../context.ts'
import { probeDatabaseHealth } from '../../db/health/health-probe.ts'
import { version } from '../../version.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

export const healthHandlers: HealthHandlers<RequestContext> = {
  getHealth(_request, { app }) {
    const database = probeDatabaseHealth(app.store)
    const server = app.runs.jobs.draining ? 'draining' : 'healthy'
    const healthy = database === 'healthy' && server === 'healthy'
    return {
      status: healthy ? 200 : 503,
      body: {
        status: healthy ? 'healthy' : 'unhealthy',
        timestamp: app.platform.timestamp(),
        uptime: computeUptime(app),
        services: { database, server, ...(app.runs.jobs.hasUnreadableJobs && { journal: 'unreadable' as const }) },
      },
    }
  },

  getApiHealth: (_request, { app }) => ({ status: 200, body: { version, uptime: Math.floor(computeUptime(app)) } }),

  getReady: () => ({ status: 200, body: { status: 'ok' } }),

  async getMetrics(_request, { app }) {
    return { status: 200, content_type: 'text/plain', body: await app.metrics.text() }
  },
}

function computeUptime(app: AppContext): number {
  return (app.platform.now() - app.lifetime.started_at) / 1000
}
