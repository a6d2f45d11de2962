// Operations of the tag `health`.
import type { HealthHandlers } from '../../generated/operations.ts'
import type { AppContext } from '../context.ts'
import { probe } from '../db/probe.ts'
import { version } from '../version.ts'
import { metrics } from './metrics.ts'
import type { RequestContext } from './request.ts'

export const health: HealthHandlers<RequestContext> = {
  ...metrics,

  getHealth(_request, { app }) {
    const database = probe(app.store)
    const server = app.jobs.draining ? 'draining' : 'healthy'
    const healthy = database === 'healthy' && server === 'healthy'
    return {
      status: healthy ? 200 : 503,
      body: {
        status: healthy ? 'healthy' : 'unhealthy',
        timestamp: app.platform.timestamp(),
        uptime: uptime(app),
        services: { database, server, ...(app.jobs.hasUnreadable && { journal: 'unreadable' as const }) },
      },
    }
  },

  getApiHealth: (_request, { app }) => ({ status: 200, body: { version, uptime: Math.floor(uptime(app)) } }),

  getReady: () => ({ status: 200, body: { status: 'ok' } }),
}

function uptime(app: AppContext): number {
  return (app.platform.now() - app.started_at) / 1000
}
