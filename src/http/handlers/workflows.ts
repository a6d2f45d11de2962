// Operations of the tag `workflows`.

import type { WorkflowsHandlers } from '../../../generated/operations.ts'
import type { Workflow, WorkflowVersion } from '../../../generated/types.ts'
import type { AppContext } from '../../context.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { appendJsonMember } from '../../shared/json.ts'
import { yieldToEventLoop } from '../../shared/time-slices.ts'
import { toExampleListItem, toExampleRecord } from '../../workflows/examples.ts'
import { deriveInputSchema, deriveOutputSchema } from '../../workflows/interface.ts'
import type { RecordWithRevision } from '../../workflows/service.ts'
import type { ListedVersion } from '../../workflows/versions.ts'
import { createNextLink } from '../pipeline/pagination-links.ts'
import { createJsonTextReply } from '../pipeline/reply.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { createAcceptedRun, createHttpSubmission, createRunReply } from './workflow-runs.ts'

export const workflowsHandlers: WorkflowsHandlers<RequestContext> = {
  async listWorkflows({ query }, { app, principal }) {
    const { workflows, next } = await app.runs.workflows.list(principal, query)
    return { status: 200, body: workflows, headers: createNextLink('/api/workflows', query, next) }
  },

  async createWorkflow({ body }, { app, principal }) {
    const created = await app.runs.workflows.create(principal, body)
    const headers = { ...createEtagHeader(created), Location: `/api/workflows/${created.record.id}` }
    return { status: 201, body: created.record, headers }
  },

  async getWorkflow({ path }, { app, principal }) {
    return createWorkflowReply(await app.runs.workflows.get(principal, path.id))
  },

  async updateWorkflow({ path, headers, body }, { app, principal }) {
    return createWorkflowReply(
      await app.runs.workflows.update(principal, path.id, body, parseRevisions(headers['if-match'])),
    )
  },

  async deleteWorkflow({ path, headers }, { app, principal }) {
    await app.runs.workflows.delete(principal, path.id, parseRevisions(headers['if-match']))
    return { status: 204 }
  },

  async runWorkflow({ path, body }, context) {
    const { app, principal, signal } = context
    const submission = createHttpSubmission(path.id, body)
    const preparing = app.runs.jobs.prepare(principal, submission)
    if (preparing) await preparing
    const { active } = app.runs.jobs.submit(principal, submission)
    const Location = `/api/jobs/${active.row.id}`
    if (body.background) {
      await active.accepted()
      return { status: 202, body: createAcceptedRun(active), headers: { Location } }
    }
    const row = await context.whileAuthenticated(app.runs.jobs.outcome(active, signal), { Location })
    // To serialize a large result has used up this turn.
    if (active.outputs.isLarge) await yieldToEventLoop()
    return createRunReply(active, row)
  },

  async getWorkflowInterface({ path }, { app, principal }) {
    return { status: 200, body: await app.runs.workflows.interface(principal, path.id) }
  },

  async listWorkflowVersions({ path, query }, { app, principal }) {
    const { versions, next } = await app.runs.workflows.versions(principal, path.id, query)
    const headers = createNextLink(`/api/workflows/${path.id}/versions`, query, next)
    if (query.fields === 'full')
      return {
        ...createJsonTextReply<WorkflowVersion[], 200>(200, streamVersionsWithGraphs(versions, app, principal)),
        headers,
      }
    return { status: 200, body: versions.map(({ version }) => version), headers }
  },

  async shareWorkflow({ path }, { app, principal }) {
    return { status: 200, body: await app.runs.workflows.share(principal, path.id) }
  },

  async unshareWorkflow({ path }, { app, principal }) {
    await app.runs.workflows.unshare(principal, path.id)
    return { status: 204 }
  },

  async listPublicWorkflows({ query }, { app, caller }) {
    const { workflows, next } = await app.runs.workflows.listPublic(caller, query)
    return { status: 200, body: workflows, headers: createNextLink('/api/workflows/public', query, next) }
  },

  async getPublicWorkflow({ path }, { app, caller }) {
    return createWorkflowReply(await app.runs.workflows.getPublic(caller, path.id))
  },

  listExampleWorkflows(_request, { app }) {
    return { status: 200, body: app.runs.workflows.examples().map(toExampleListItem) }
  },

  getExampleWorkflow({ path }, { app }) {
    const { example, compiled } = app.runs.workflows.example(path.name)
    const schemas = { input_schema: deriveInputSchema(compiled), output_schema: deriveOutputSchema(compiled) }
    return { status: 200, body: { ...toExampleRecord(example), ...schemas } }
  },

  async getSharedWorkflow({ path }, { app, caller }) {
    return createWorkflowReply(await app.runs.workflows.getShared(caller, path.token))
  },
}

function createWorkflowReply<Found extends Workflow>(workflow: RecordWithRevision<Found>) {
  return { status: 200, body: workflow.record, headers: createEtagHeader(workflow) } as const
}

/** Streams versions with their graphs, one at a time in memory: all graphs together may be very long. */
async function* streamVersionsWithGraphs(
  versions: readonly ListedVersion[],
  { runs, schedulers }: Pick<AppContext, 'runs' | 'schedulers'>,
  scope: OwnerScope,
): AsyncGenerator<string> {
  const turns = schedulers.reading.turnsOf(userShareKey(scope))
  for (const [at, listed] of versions.entries()) {
    if (turns.over) await turns.next()
    yield `${at === 0 ? '[' : ','}${appendJsonMember(listed.version, 'graph', runs.workflows.graphTextOf(listed))}`
  }
  yield versions.length === 0 ? '[]' : ']'
}

function createEtagHeader({ revision }: RecordWithRevision<unknown>): Record<string, string> {
  return { ETag: `"${revision}"` }
}

/** The revisions that `If-Match` names; null for any (RFC 9110, section 13.1.1: weak tags never match). */
function parseRevisions(header: string | null | undefined): number[] | null {
  const tags = header?.match(ENTITY_TAG) ?? []
  // The contract allows only `*` or a list of tags.
  if (tags.length === 0) return null
  return tags.filter((tag) => /^"\d{1,15}"$/.test(tag)).map((tag) => Number(tag.slice(1, -1)))
}

/** A tag may contain a comma (RFC 9110, section 8.8.3). */
const ENTITY_TAG = /(?:W\/)?"[^"]*"/g
