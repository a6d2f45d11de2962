// Attempts of a stranger for each implemented command of `/ws`. The compiler reports a missing one.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import { greeting } from '../../http/kit.ts'
import { submissionsOf } from './operations.ts'
import type { Things } from './scene.ts'

export type CommandCase =
  /** Names one of the owner's things: every frame of the answer is as for an unknown thing. */
  | { readonly kind: 'addressed'; ask(things: Things): readonly object[] }
  /** Lists the caller's things: the answer is that for a caller without any. */
  | { readonly kind: 'listed'; readonly data: object }
  /** Makes a thing of the caller under the owner's names: the owner's thing is unchanged. */
  | { readonly kind: 'own'; ask(things: Things): readonly object[] }
  | { readonly kind: 'common'; readonly why: string }

function ofJobs(more: object = {}): CommandCase {
  return {
    kind: 'addressed',
    ask: ({ failed_job, suspended_job, living_job }) =>
      [failed_job, suspended_job, living_job].map((job_id) => ({ job_id, ...more })),
  }
}

function ofThread(more: object = {}): CommandCase {
  return { kind: 'addressed', ask: ({ thread }) => [{ thread_id: thread, ...more }] }
}

function ofWorkflows(): CommandCase {
  return { kind: 'addressed', ask: ({ workflow, shared_workflow }) => [{ id: workflow }, { id: shared_workflow }] }
}

function common(why: string): CommandCase {
  return { kind: 'common', why }
}

export const COMMANDS: Readonly<Record<keyof WsCommandHandlers<unknown>, CommandCase | readonly CommandCase[]>> = {
  run_job: [
    {
      kind: 'own',
      ask: ({ failed_job, suspended_job, living_job }) =>
        [failed_job, suspended_job, living_job].map((job_id) => ({
          job_id,
          graph: greeting().graph,
          params: { name: 'stranger' },
        })),
    },
    {
      kind: 'addressed',
      ask: ({ workflow, shared_workflow }) =>
        [workflow, shared_workflow].map((workflow_id) => ({ job_id: 'job-of-a-stranger', workflow_id })),
    },
  ],
  cancel_job: ofJobs(),
  reconnect_job: ofJobs({ after_sequence: 0 }),
  stream_input: ofJobs({ input: 'x', value: 1 }),
  end_input_stream: ofJobs({ input: 'x' }),
  update_node_properties: ofJobs({ node_id: 'in', properties: { value: 1 } }),
  get_status: [ofJobs(), { kind: 'listed', data: {} }],
  resume_job: ofJobs({ node_id: 'ask', value: true }),
  chat_message: ofThread({ content: 'of a stranger' }),
  resume_chat: ofThread({ after_sequence: 0 }),
  tool_result: ofThread({ tool_call_id: 'call', result: 1 }),
  stop: ofThread(),
  inference: common('nothing of a conversation is stored, and a model is asked with the keys of the caller'),
  set_mode: common('changes the socket alone'),
  ping: common('says the time'),
  list_workflows: { kind: 'listed', data: {} },
  get_workflow: ofWorkflows(),
  get_workflow_interface: ofWorkflows(),
  get_capabilities: common('what the server can do is the same for everybody'),
  list_workflow_summaries: { kind: 'listed', data: {} },
  get_workflow_interfaces: {
    kind: 'addressed',
    ask: ({ workflow, shared_workflow }) => [{ ids: [workflow] }, { ids: [shared_workflow] }],
  },
  get_node_type_inventory: common('types come with the service'),
  preflight_workflow: {
    kind: 'addressed',
    ask: ({ workflow, shared_workflow }) =>
      [workflow, shared_workflow].map((workflow_id) => ({ workflow_id, level: 'execution' })),
  },
  submit_job: { kind: 'addressed', ask: submissionsOf },
  get_job_snapshot: ofJobs(),
  subscribe_job: ofJobs({ after_sequence: 0 }),
  request_job_cancellation: ofJobs(),
  list_nodes: common('node types come with the service'),
  get_node: common('node types come with the service'),
  list_assets: [
    { kind: 'listed', data: {} },
    { kind: 'listed', data: { q: 'note', content_type: 'text', parent_id: 'root', page_size: 1 } },
  ],
  get_asset: {
    kind: 'addressed',
    ask: ({ asset, folder }) => [{ id: asset }, { id: folder }, { id: asset, expires_in: 60 }],
  },
}
