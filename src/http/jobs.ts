// Operations of the tag `jobs`: thin over the service, which knows no doors.
import type { JobsHandlers } from '../../generated/operations.ts'
import type { JobEvent, JobSnapshot } from '../../generated/types.ts'
import type { AppContext } from '../context.ts'
import { type Scope, userKey } from '../db/scope.ts'
import { ServiceError } from '../errors.ts'
import { deleteJob, jobText, listJobs } from '../jobs/reads.ts'
import { replayAfter } from '../jobs/replay.ts'
import type { JobHandle } from '../jobs/service.ts'
import { isTerminal } from '../jobs/states.ts'
import { eventArray, eventStream } from './events-stream.ts'
import { nextLink } from './links.ts'
import { jsonText } from './reply.ts'
import type { RequestContext } from './request.ts'
import { begun } from './text-parts.ts'

const STREAM = 'text/event-stream'

export const jobs: JobsHandlers<RequestContext> = {
  async listJobs({ query }, { app, principal }) {
    const { text, next } = listJobs(app, principal, query)
    return {
      ...jsonText<JobSnapshot[], 200>(200, await begun(text)),
      headers: nextLink('/api/jobs', query, next),
    }
  },

  async getJob({ path }, { app, principal }) {
    return snapshot(app, await app.jobs.get(principal, path.id))
  },

  async deleteJob({ path }, { app, principal }) {
    await deleteJob(app, principal, path.id)
    return { status: 204 }
  },

  async cancelJob({ path }, { app, principal }) {
    return snapshot(app, await app.jobs.cancel(principal, path.id))
  },

  async resumeJob({ path, body }, { app, principal }) {
    const { node_id = null, name = null, value } = body
    return snapshot(app, await app.jobs.resume(principal, path.id, { node_id, name, value, at: '/body' }))
  },

  async retryJob({ path }, { app, principal }) {
    const handle = await app.jobs.retry(principal, path.id)
    const headers = { Location: `/api/jobs/${handle.row.id}` }
    return { ...jsonText<JobSnapshot, 202>(202, await jobText(app.jobs, handle)), headers }
  },

  async followJobEvents({ path, query, headers }, context) {
    const { app, principal } = context
    const type = context.accepts([STREAM, 'application/json'])
    if (type === null) throw new ServiceError('NOT_ACCEPTABLE')
    const after = headers['last-event-id'] ?? query.after_sequence ?? 0
    const { job, key, last_sequence, ended } = await followed(app, principal, path.id, after)
    const gone = AbortSignal.any([context.signal, context.revoked, app.stopping])
    const items = app.events.follow(key, after, gone)
    const negotiated = { Vary: 'Accept' }
    const reader = () => context.reader
    const turns = app.reading.turnsOf(userKey(principal))
    if (type !== STREAM) {
      const text = await begun(eventArray(job, items, { after, last: last_sequence, reader, turns }))
      return { ...jsonText<JobEvent[], 200>(200, text), headers: negotiated }
    }
    if (ended && after === last_sequence) return { status: 204, headers: negotiated }
    // Proxies that gather answers would hold events back.
    const { half_closed } = context
    const unbuffered = { ...negotiated, 'X-Accel-Buffering': 'no' }
    return {
      status: 200,
      content_type: STREAM,
      body: eventStream(job, items, after, { half_closed, reader, turns }),
      headers: unbuffered,
    }
  },
}

/** What is needed of a job to follow it: its row may hold a large result, and whoever reads may take long. */
async function followed(app: AppContext, principal: Scope, job_id: string, after: number) {
  const { row } = await app.jobs.get(principal, job_id)
  if (replayAfter(app.store, row, after) === 'expired') throw new ServiceError('REPLAY_EXPIRED')
  const { key, id, workflow_id, workspace_id, last_sequence, status } = row
  return { job: { id, workflow_id, workspace_id }, key, last_sequence, ended: isTerminal(status) }
}

async function snapshot(app: AppContext, handle: JobHandle) {
  return jsonText<JobSnapshot, 200>(200, await jobText(app.jobs, handle))
}
