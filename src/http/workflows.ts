// Operations of the tag `workflows`.

import type { WorkflowsHandlers } from '../../generated/operations.ts'
import type { Workflow, WorkflowVersion } from '../../generated/types.ts'
import type { AppContext } from '../context.ts'
import { type Scope, userKey } from '../db/scope.ts'
import { jsonWith } from '../json.ts'
import { nextTurn } from '../time-slices.ts'
import { exampleListItem, exampleRecord } from '../workflows/examples.ts'
import { inputSchema, outputSchema } from '../workflows/interface.ts'
import type { Revised } from '../workflows/service.ts'
import type { ListedVersion } from '../workflows/versions.ts'
import { nextLink } from './links.ts'
import { jsonText } from './reply.ts'
import type { RequestContext } from './request.ts'
import { acceptedRun, httpSubmission, runReply } from './run.ts'

export const workflows: WorkflowsHandlers<RequestContext> = {
  async listWorkflows({ query }, { app, principal }) {
    const { workflows, next } = await app.workflows.list(principal, query)
    return { status: 200, body: workflows, headers: nextLink('/api/workflows', query, next) }
  },

  async createWorkflow({ body }, { app, principal }) {
    const created = await app.workflows.create(principal, body)
    const headers = { ...etag(created), Location: `/api/workflows/${created.record.id}` }
    return { status: 201, body: created.record, headers }
  },

  async getWorkflow({ path }, { app, principal }) {
    return found(await app.workflows.get(principal, path.id))
  },

  async updateWorkflow({ path, headers, body }, { app, principal }) {
    return found(await app.workflows.update(principal, path.id, body, revisions(headers['if-match'])))
  },

  async deleteWorkflow({ path, headers }, { app, principal }) {
    await app.workflows.delete(principal, path.id, revisions(headers['if-match']))
    return { status: 204 }
  },

  async runWorkflow({ path, body }, { app, principal, signal }) {
    const submission = httpSubmission(path.id, body)
    const preparing = app.jobs.prepare(principal, submission)
    if (preparing) await preparing
    const { active } = app.jobs.submit(principal, submission)
    if (!active) throw new Error('a new job is always active')
    if (body.background) {
      await active.accepted()
      return { status: 202, body: acceptedRun(active), headers: { Location: `/api/jobs/${active.row.id}` } }
    }
    const row = await app.jobs.outcome(active, signal)
    // To write a large result has taken its time.
    if (active.large_outputs) await nextTurn()
    return runReply(active, row)
  },

  async getWorkflowInterface({ path }, { app, principal }) {
    return { status: 200, body: await app.workflows.interface(principal, path.id) }
  },

  async listWorkflowVersions({ path, query }, { app, principal }) {
    const { versions, next } = await app.workflows.versions(principal, path.id, query)
    const headers = nextLink(`/api/workflows/${path.id}/versions`, query, next)
    if (query.fields === 'full')
      return { ...jsonText<WorkflowVersion[], 200>(200, withGraphs(versions, app, principal)), headers }
    return { status: 200, body: versions.map(({ version }) => version), headers }
  },

  async shareWorkflow({ path }, { app, principal }) {
    return { status: 200, body: await app.workflows.share(principal, path.id) }
  },

  async unshareWorkflow({ path }, { app, principal }) {
    await app.workflows.unshare(principal, path.id)
    return { status: 204 }
  },

  async listPublicWorkflows({ query }, { app, caller }) {
    const { workflows, next } = await app.workflows.listPublic(caller, query)
    return { status: 200, body: workflows, headers: nextLink('/api/workflows/public', query, next) }
  },

  async getPublicWorkflow({ path }, { app, caller }) {
    return found(await app.workflows.getPublic(caller, path.id))
  },

  listExampleWorkflows(_request, { app }) {
    return { status: 200, body: app.workflows.examples().map(exampleListItem) }
  },

  getExampleWorkflow({ path }, { app }) {
    const { example, compiled } = app.workflows.example(path.name)
    const schemas = { input_schema: inputSchema(compiled), output_schema: outputSchema(compiled) }
    return { status: 200, body: { ...exampleRecord(example), ...schemas } }
  },

  async getSharedWorkflow({ path }, { app, caller }) {
    return found(await app.workflows.getShared(caller, path.token))
  },
}

function found<Found extends Workflow>(workflow: Revised<Found>) {
  return { status: 200, body: workflow.record, headers: etag(workflow) } as const
}

/** Versions with their graphs, of which one at a time is in memory: all together may be very long. */
async function* withGraphs(
  versions: readonly ListedVersion[],
  { workflows, reading }: Pick<AppContext, 'workflows' | 'reading'>,
  scope: Scope,
): AsyncGenerator<string> {
  const turns = reading.turnsOf(userKey(scope))
  for (const [at, listed] of versions.entries()) {
    if (turns.over) await turns.next()
    yield `${at === 0 ? '[' : ','}${jsonWith(listed.version, 'graph', workflows.graphTextOf(listed))}`
  }
  yield versions.length === 0 ? '[]' : ']'
}

function etag({ revision }: Revised<unknown>): Record<string, string> {
  return { ETag: `"${revision}"` }
}

/** The revisions that `If-Match` names; null for any (RFC 9110, section 13.1.1: weak tags never match). */
function revisions(header: string | null | undefined): number[] | null {
  const tags = header?.match(ENTITY_TAG) ?? []
  // The contract lets nothing in that is neither `*` nor a list of tags.
  if (tags.length === 0) return null
  return tags.filter((tag) => /^"\d{1,15}"$/.test(tag)).map((tag) => Number(tag.slice(1, -1)))
}

/** A tag may hold a comma (RFC 9110, section 8.8.3). */
const ENTITY_TAG = /(?:W\/)?"[^"]*"/g
