// Helpers for tests of secrets and settings: requests of a principal, and a workflow that sends a secret.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CreateWorkflowRequest, Secret, Setting } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { type Answer, call } from '../helpers/http.ts'
import type { TestServer } from '../helpers/server.ts'

export const LOCAL: OwnerScope = { user_id: '1', workspace_id: null }

/** Owners other than the local one: another user, and the same user in a workspace. */
export const OTHERS: readonly OwnerScope[] = [
  { user_id: '2', workspace_id: null },
  { user_id: '1', workspace_id: 'w' },
]

export function putSecret(server: { url: string }, name: string, value: string): Promise<Answer<Secret>> {
  return call<Secret>(server, 'PUT', `/api/secrets/${name}`, { body: { value } })
}

export async function settingsOf(server: { url: string }): Promise<Record<string, Setting['value']>> {
  const { body } = await call<{ settings: Setting[] }>(server, 'GET', '/api/settings')
  return Object.fromEntries(body.settings.map(({ name, value }) => [name, value]))
}

export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** The received requests, in order. */
  readonly requests: { url: string; headers: IncomingHttpHeaders }[]
  /** Returns the answer: a text made of the request's headers. */
  answer: (headers: IncomingHttpHeaders) => string
}

/** A foreign server on a port of its own. */
export async function startReceiver(): Promise<Receiver> {
  const receiver: Omit<Receiver, 'url' | typeof Symbol.asyncDispose> = { requests: [], answer: () => 'ok' }
  const http = createServer((request, response) => {
    receiver.requests.push({ url: request.url ?? '', headers: request.headers })
    response.setHeader('Content-Type', 'text/plain')
    response.end(receiver.answer(request.headers))
  })
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  })
}

/** Configuration of a server whose nodes reach this machine. */
export const REACHING = { SVC_HTTP_NODE_ALLOW: '127.0.0.1' }

/** A workflow that sends the secret in a header, and outputs the answer's body. */
export function sending(url: string, name = 'KEY'): CreateWorkflowRequest {
  return {
    name: 'Sending',
    graph: {
      nodes: [
        { id: 'ask', type: 'http.Request', data: { url, headers: { 'X-Key': `{{secret:${name}}}` } } },
        { id: 'out', type: 'output.Output', data: { name: 'body' } },
      ],
      edges: [{ source: 'ask', sourceHandle: 'body', target: 'out', targetHandle: 'value' }],
    },
  }
}

export async function makeWorkflow(server: TestServer, workflow: CreateWorkflowRequest): Promise<string> {
  const { body } = await call<{ id: string }>(server, 'POST', '/api/workflows', { body: workflow })
  return body.id
}
