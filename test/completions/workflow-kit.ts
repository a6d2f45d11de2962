// What the tests of workflows as models share.
import type { ChatCompletionRequest, CreateWorkflowRequest, Graph } from '../../generated/types.ts'
import type { AnswerPart } from '../../src/completions/answers/generator.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { ModelUsage } from '../../src/engine/node-api/services/models.ts'
import type { TestServer } from '../helpers/server.ts'
import { edge, node } from '../http/kit.ts'

export const OWNER: OwnerScope = { user_id: '1', workspace_id: null }
export const STRANGER: OwnerScope = { user_id: 'stranger', workspace_id: null }

type Data = Record<string, unknown>

/** `input` → a node → one text output. */
function through(input: [string, Data], of: [string, Data], from: string, to: string): CreateWorkflowRequest {
  const nodes = [node('in', ...input), node('of', ...of), node('out', 'output.Output', { name: 'answer' })]
  return {
    name: 'Talk',
    graph: { nodes, edges: [edge('in.output', `of.${to}`), edge(`of.${from}`, 'out.value')] } as Graph,
  }
}

/** Says hello to the last message of the user. */
export function hello(data: Data = { name: 'prompt' }): CreateWorkflowRequest {
  return through(['input.String', data], ['text.Template', { template: 'Hello, {{name}}!' }], 'output', 'name')
}

/** Streams the answer of a model to the last message of the user. */
export function asking(model: string): CreateWorkflowRequest {
  return through(['input.String', { name: 'prompt' }], ['chat.Complete', { model }], 'text', 'prompt')
}

/** Streams the answer of a model to the whole conversation. */
export function conversing(model: string, name = 'messages'): CreateWorkflowRequest {
  return through(['input.List', { name }], ['chat.Complete', { model }], 'text', 'messages')
}

/** Says hello after a node that waits. */
export function waiting(type: string, data: Data, from: string): CreateWorkflowRequest {
  const nodes = [
    node('in', 'input.String', { name: 'prompt' }),
    node('first', 'text.Template', { template: 'Hello, {{name}}!' }),
    node('wait', type, data),
    node('then', 'text.Template', { template: '{{text}}' }),
    node('out', 'output.Output', { name: 'answer' }),
  ]
  const edges = [
    edge('in.output', 'first.name'),
    edge('first.output', 'wait.value'),
    edge(`wait.${from}`, 'then.text'),
    edge('then.output', 'out.value'),
  ]
  return { name: 'Wait', graph: { nodes, edges } as Graph }
}

export async function stored(server: TestServer, workflow: CreateWorkflowRequest, owner = OWNER): Promise<string> {
  return (await server.context.runs.workflows.create(owner, workflow)).record.id
}

export function says(...texts: string[]): ChatCompletionRequest {
  return { model: 'workflow/any', messages: texts.map((content) => ({ role: 'user', content })) }
}

/** Answers a conversation; `used` collects the reported usage. */
export function answer(
  server: TestServer,
  workflow_id: string,
  body: ChatCompletionRequest = says('Ada'),
  { owner = OWNER, signal = new AbortController().signal, used = [] as ModelUsage[] } = {},
): AsyncGenerator<AnswerPart, void, void> {
  const calling = { signal, used: (use: ModelUsage) => void used.push(use) }
  return server.context.models.workflow_models.answer(owner, workflow_id, body, calling)
}

export interface Said {
  readonly job_id: string
  readonly texts: readonly string[]
  readonly end: Extract<AnswerPart, { type: 'end' }>
}

/** A whole answer, whose first part names the job, and whose last part is its end. */
export async function said(parts: AsyncGenerator<AnswerPart, void, void>): Promise<Said> {
  const all: AnswerPart[] = []
  for await (const part of parts) all.push(part)
  const [first, ...rest] = all
  const end = rest.pop()
  if (first?.type !== 'job' || end?.type !== 'end') throw new Error(`not an answer: ${JSON.stringify(all)}`)
  const texts = rest.map((part) => {
    if (part.type !== 'text') throw new Error(`not a text: ${JSON.stringify(part)}`)
    return part.text
  })
  return { job_id: first.job_id, texts, end }
}
