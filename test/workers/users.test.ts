// Turns through the whole service: a user in two workspaces is one user, and shares workers as one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_WORKERS } from '../../src/sandbox/limits.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, until } from '../helpers/server.ts'

/** Milliseconds: no test here waits for its end. */
const FOR_EVER = 60_000

const code = (text: string) => ({
  nodes: [{ id: 'code', type: 'code.JavaScript', data: { code: text, time_limit_ms: FOR_EVER } }],
  edges: [],
})

test('code of a user in two workspaces leaves a worker to others', { timeout: 300_000 }, async () => {
  await using idp = await startIdentityProvider()
  await using server = await startServer({ environment: idp.environment })
  const ask = async <T = { id: string; status: string }>(
    token: string,
    method: string,
    path: string,
    body?: object,
  ) => {
    const headers = { Authorization: `Bearer ${token}` }
    const reply = await call(server, method, path, { headers, ...(body && { body }) })
    assert.ok(reply.status < 300, `${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`)
    return reply.body as T
  }
  const greedy = [
    await idp.token({ sub: 'greedy', workspace_id: 'a' }),
    await idp.token({ sub: 'greedy', workspace_id: 'b' }),
  ]
  const runs: string[] = []
  for (const token of greedy) {
    const { id } = await ask(token, 'POST', '/api/workflows', { name: 'Code', graph: code('for (;;);') })
    runs.push(`/api/workflows/${id}/run`)
  }
  // Alternates, so that each workspace has its part of the workers. The end of the server ends them.
  const running = async () => {
    const lists = await Promise.all(greedy.map((token) => ask<unknown[]>(token, 'GET', '/api/jobs?status=running')))
    return lists.flat().length
  }
  for (let at = 0; at < 2 * DEFAULT_WORKERS; at++) {
    ask(greedy[at % 2]!, 'POST', runs[at % 2]!, {}).catch(() => {})
    await until('it to run', async () => (await running()) === at + 1)
  }
  const other = await idp.token({ sub: 'other' })
  const { id } = await ask(other, 'POST', '/api/workflows', { name: 'Code', graph: code('return {}') })
  assert.equal((await ask(other, 'POST', `/api/workflows/${id}/run`, {})).status, 'completed')
  assert.equal(await running(), 2 * DEFAULT_WORKERS)
})
