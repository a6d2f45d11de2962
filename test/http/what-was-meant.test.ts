// Mistakes of beginners: the answer proposes the intended request.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { call, type ErrorBody } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

const RUN = '/api/workflows/greeting/run'

async function told(server: { url: string }, path: string, body: string): Promise<{ status: number; message: string }> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body })
  return { status: response.status, message: ((await response.json()) as ErrorBody).error.message }
}

describe('an input of a workflow outside of its member', () => {
  for (const [operation, path, place, body] of [
    ['runWorkflow', RUN, 'params', { name: 'Ada' }],
    ['preflightWorkflow', '/api/sdk/v1/preflight', 'inputs', { workflow_id: 'greeting', level: 'static', name: 'Ada' }],
  ] as const)
    test(`${operation}: gets a hint to put it into ${place}`, async () => {
      await using server = await startServer()
      const { status, message } = await told(server, path, JSON.stringify(body))
      assert.equal(status, 400)
      assert.ok(message.includes(`is not a known property: put inputs of the workflow in "${place}"`), message)
    })

  test('runWorkflow: gets the hint also in a large body', async () => {
    await using server = await startServer()
    const { status, message } = await told(server, RUN, JSON.stringify({ name: 'x'.repeat(3_000_000) }))
    assert.equal(status, 400)
    assert.match(message, /^\/body\/name: .*put inputs of the workflow in "params"$/)
  })

  test('runWorkflow: gets no hint at a deeper level', async () => {
    await using server = await startServer()
    const { message } = await told(server, RUN, JSON.stringify({ params: { nmae: 'x' } }))
    assert.doesNotMatch(message, /put inputs of the workflow in/)
  })
})

describe('a body that is not JSON', () => {
  for (const [what, body, place] of [
    ['a comma too many', '{"params": {"name": "x",}}', 'Expected double-quoted property name (line 1, column 25).'],
    ['a word without quotes', '{\n  "params": {\n    "name": Ada\n  }\n}', "Unexpected token 'A' (line 3, column 13)."],
    ['no end', '{"params": {', "Expected property name or '}' (line 1, column 13)."],
    ['the mark of a byte order', '\ufeff{"params": }', "Unexpected token '}' (line 1, column 12)."],
  ] as const)
    test(`is refused with the position of the mistake: ${what}`, async () => {
      await using server = await startServer()
      const { status, message } = await told(server, RUN, body)
      assert.equal(status, 400)
      assert.equal(message, `The body is not valid JSON. ${place}`)
    })

  test('is refused with the position also if it comes in chunks', async () => {
    await using server = await startServer()
    const body = new Blob(['{"params": {\n"name": ]}']).stream()
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(`${server.url}${RUN}`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit)
    const { error } = (await response.json()) as ErrorBody
    assert.equal(error.message, "The body is not valid JSON. Unexpected token ']' (line 2, column 9).")
  })

  test('is refused without the position if it is long, since the search reads it again and again', async () => {
    await using server = await startServer()
    const { message } = await told(server, RUN, `{"params": "${'x'.repeat(20_000)}",}`)
    assert.equal(message, 'The body is not valid JSON.')
  })
})

describe('WORKFLOW_NOT_FOUND:', () => {
  test('proposes the intended bundled example', async () => {
    await using server = await startServer()
    const asked = [
      ['GET', '/api/workflows/greetin'],
      ['GET', '/api/workflows/greetin/interface'],
      ['GET', '/api/workflows/examples/greetin'],
      ['POST', '/api/workflows/greetin/run'],
    ] as const
    for (const [method, path] of asked) {
      const options = method === 'POST' ? { body: {} } : {}
      const { status, body } = await call<ErrorBody>(server, method, path, options)
      assert.equal(status, 404)
      assert.equal(body.error.message, 'There is no workflow "greetin". Did you mean the example "greeting"?', path)
    }
  })

  test('proposes nothing if no name is similar', async () => {
    await using server = await startServer()
    const { body } = await call<ErrorBody>(server, 'GET', '/api/workflows/wf_unknown')
    assert.equal(body.error.message, 'The workflow does not exist.')
  })

  test('explains that a bundled example cannot be changed', async () => {
    await using server = await startServer()
    const { status, body } = await call<ErrorBody>(server, 'DELETE', '/api/workflows/greeting')
    assert.equal(status, 404)
    assert.match(body.error.message, /^"greeting" is a bundled example: .*only a copy of it can be changed\.$/)
  })
})
