// Lists of workflows and node types: filters, pages, and isolation of owners.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ExampleWorkflow, ExampleWorkflowListItem, NodeMetadata, WorkflowListItem } from '../../generated/types.ts'
import { type Platform, systemPlatform } from '../../src/platform.ts'
import { type Answer, call, refused } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { created, greeting } from './kit.ts'

type Items = WorkflowListItem[]

/** A fixed clock, so that rows have the same times. */
function frozen(): Platform {
  return { ...systemPlatform(), timestamp: () => '2026-01-15T09:00:00.000Z' }
}

/** Follows `Link` from page to page. Returns the pages. */
async function pages(server: { url: string }, first: string): Promise<Items[]> {
  const found: Items[] = []
  let next: string | null = first
  while (next !== null) {
    assert.ok(found.length < 100, 'the pages do not end')
    const { body, headers, status, text }: Answer<Items> = await call<Items>(server, 'GET', next)
    assert.equal(status, 200, text)
    found.push(body)
    next = /^<([^>]+)>; rel="next"$/.exec(String(headers.link))?.[1] ?? null
  }
  return found
}

const names = (items: Items) => items.map(({ name }) => name)

describe('listWorkflows', () => {
  test('listWorkflows: returns an array without graphs, the last changed first, with and without the trailing slash', async () => {
    await using server = await startServer()
    assert.deepEqual((await call(server, 'GET', '/api/workflows')).body, [])
    const [a, b] = [await created(server, greeting({ name: 'a' })), await created(server, greeting({ name: 'b' }))]
    await call(server, 'PUT', `/api/workflows/${a.id}`, { body: greeting({ name: 'a2' }) })
    for (const path of ['/api/workflows', '/api/workflows/']) {
      const { body, headers } = await call<Items>(server, 'GET', path)
      assert.equal(headers.link, undefined)
      assert.ok(body.every((item) => !('graph' in item) && !('settings' in item)))
      assert.deepEqual([...body.map(({ id }) => id)].sort(), [a.id, b.id].sort())
      if (body[0]!.updated_at !== body[1]!.updated_at) assert.deepEqual(names(body), ['a2', 'b'])
    }
  })

  test('listWorkflows: returns all without a limit, and with a limit pages through Link, each row once', async () => {
    for (const platform of [systemPlatform(), frozen()]) {
      await using server = await startServer({ platform })
      for (let at = 0; at < 7; at++) await created(server, greeting({ name: `w${at}`, tags: ['t'] }))
      const all = (await call<Items>(server, 'GET', '/api/workflows')).body
      assert.equal(all.length, 7)
      for (const [limit, sizes] of [
        [1, [1, 1, 1, 1, 1, 1, 1]],
        [3, [3, 3, 1]],
        [7, [7]],
        [500, [7]],
      ] as const) {
        const found = await pages(server, `/api/workflows?limit=${limit}&tag=t&q=W`)
        assert.deepEqual(
          found.map((page) => page.length),
          sizes,
        )
        assert.deepEqual(found.flat(), all)
      }
      assert.deepEqual((await pages(server, '/api/workflows/?limit=4')).flat(), all)
    }
  })

  test('listWorkflows: a page keeps its place while rows come and go', async () => {
    await using server = await startServer({ platform: frozen() })
    for (let at = 0; at < 4; at++) await created(server, greeting({ name: `w${at}` }))
    const all = (await call<Items>(server, 'GET', '/api/workflows')).body
    const first = await call<Items>(server, 'GET', '/api/workflows?limit=2')
    await call(server, 'DELETE', `/api/workflows/${all[1]!.id}`)
    const next = /^<([^>]+)>/.exec(String(first.headers.link))![1]!
    assert.deepEqual((await call<Items>(server, 'GET', next)).body, all.slice(2))
  })

  test('INVALID_REQUEST: a cursor that this list did not give out', async () => {
    await using server = await startServer()
    const made = [[1], [], {}, ['a'], ['a', 1], null, 'x'].map((value) =>
      Buffer.from(JSON.stringify(value)).toString('base64url'),
    )
    for (const cursor of ['x', 'zz==', '%00', ...made]) {
      for (const path of ['/api/workflows', '/api/workflows/public']) {
        const paths = await refused(server, 'GET', `${path}?cursor=${cursor}`, {}, [400, 'invalid_request'])
        assert.deepEqual(paths, ['/query/cursor'], cursor)
      }
    }
  })

  test('listWorkflows: tag matches only a whole tag', async () => {
    await using server = await startServer()
    await created(server, greeting({ name: 'one', tags: ['red', 'a "b" \\ c'] }))
    await created(server, greeting({ name: 'two', tags: ['redder', 'Red'] }))
    const tagged = async (tag: string) =>
      names((await call<Items>(server, 'GET', `/api/workflows?tag=${encodeURIComponent(tag)}`)).body)
    assert.deepEqual(await tagged('red'), ['one'])
    assert.deepEqual(await tagged('a "b" \\ c'), ['one'])
    for (const tag of ['re', 'r%d', '["red"', "' or 1=1 --", 'RED']) assert.deepEqual(await tagged(tag), [], tag)
  })

  test('listWorkflows: q matches text in name, description or tags in any case, without special characters', async () => {
    await using server = await startServer()
    await created(server, greeting({ name: 'Straße 100%', description: 'ÄRGER mit_Strich' }))
    await created(server, greeting({ name: 'Other 100', tags: ['back\\slash', 'Tag"quote'] }))
    const found = async (q: string) =>
      names((await call<Items>(server, 'GET', `/api/workflows?q=${encodeURIComponent(q)}`)).body)
    const cases: [string, string[]][] = [
      ['100%', ['Straße 100%']],
      ['%', ['Straße 100%']],
      ['_', ['Straße 100%']],
      ['h_r', []],
      ['STRAßE', ['Straße 100%']],
      ['ärger', ['Straße 100%']],
      ['Ärger MIT', ['Straße 100%']],
      ['other', ['Other 100']],
      ['\\', ['Other 100']],
      ['BACK\\SL', ['Other 100']],
      ['tag"q', ['Other 100']],
      ["' or '1'='1", []],
      ['nothing', []],
    ]
    for (const [q, expected] of cases) assert.deepEqual(await found(q), expected, q)
  })

  test('listWorkflows: never returns rows of other users or workspaces', async () => {
    await using server = await startServer()
    const { workflows } = server.context.runs
    for (const scope of [
      { user_id: '2', workspace_id: null },
      { user_id: '1', workspace_id: 'w' },
    ]) {
      await workflows.create(scope, greeting({ name: 'secret', tags: ['t'], access: 'public' }))
    }
    await created(server, greeting({ name: 'mine', tags: ['t'] }))
    for (const query of ['', '?tag=t', '?q=e', '?limit=10', '?limit=1&q=m']) {
      assert.deepEqual(names((await call<Items>(server, 'GET', `/api/workflows${query}`)).body), ['mine'], query)
    }
    assert.deepEqual(names((await call<Items>(server, 'GET', '/api/workflows?q=secret')).body), [])
  })
})

describe('listPublicWorkflows', () => {
  test('listPublicWorkflows: has the same filters and pages over all users', async () => {
    await using server = await startServer({ platform: frozen() })
    const scopes = [
      { user_id: '1', workspace_id: null },
      { user_id: '2', workspace_id: 'w' },
    ]
    for (let at = 0; at < 5; at++) {
      const request = greeting({ name: `p${at}`, tags: [at % 2 === 0 ? 'even' : 'odd'], access: 'public' })
      await server.context.runs.workflows.create(scopes[at % 2]!, request)
    }
    await created(server, greeting({ name: 'private' }))
    const found = await pages(server, '/api/workflows/public?limit=2')
    assert.deepEqual(
      found.map((page) => page.length),
      [2, 2, 1],
    )
    assert.deepEqual(names(found.flat()).sort(), ['p0', 'p1', 'p2', 'p3', 'p4'])
    assert.deepEqual(names((await call<Items>(server, 'GET', '/api/workflows/public?tag=odd')).body).sort(), [
      'p1',
      'p3',
    ])
    assert.deepEqual(names((await call<Items>(server, 'GET', '/api/workflows/public?q=P4')).body), ['p4'])
    assert.deepEqual((await call(server, 'GET', '/api/workflows/public?q=private')).body, [])
  })
})

describe('examples', () => {
  test('listExampleWorkflows and getExampleWorkflow: each can be sent to createWorkflow as it is', async () => {
    await using server = await startServer()
    const { body } = await call<ExampleWorkflowListItem[]>(server, 'GET', '/api/workflows/examples')
    assert.ok(body.length >= 5)
    assert.deepEqual(
      body.map(({ id }) => id),
      body.map(({ id }) => id).sort(),
    )
    for (const item of body) {
      const example = (await call<ExampleWorkflow>(server, 'GET', `/api/workflows/examples/${item.id}`)).body
      const { id, graph, params, input_schema, output_schema, ...rest } = example
      assert.deepEqual({ id, ...rest, params }, item)
      const workflow = await created(server, { ...rest, graph })
      assert.deepEqual([workflow.input_schema, workflow.output_schema], [input_schema, output_schema])
    }
  })

  test('WORKFLOW_NOT_FOUND: an example is no stored workflow: it can be read, but is not deletable or public', async () => {
    await using server = await startServer()
    await refused(server, 'GET', '/api/workflows/examples/unknown', {}, [404, 'workflow_not_found'])
    await refused(server, 'DELETE', '/api/workflows/greeting', {}, [404, 'workflow_not_found'])
    await refused(server, 'GET', '/api/workflows/public/greeting', {}, [404, 'workflow_not_found'])
  })
})

describe('listNodeMetadata', () => {
  test('listNodeMetadata: returns every node type by name, in full or as a summary', async () => {
    await using server = await startServer()
    const full = (await call<NodeMetadata[]>(server, 'GET', '/api/nodes/metadata')).body
    assert.deepEqual(
      full.map(({ node_type }) => node_type),
      server.context.runs.registry.all().map(({ node_type }) => node_type),
    )
    assert.deepEqual((await call(server, 'GET', '/api/nodes/metadata?fields=full')).body, full)
    const summary = (await call<NodeMetadata[]>(server, 'GET', '/api/nodes/metadata?fields=summary')).body
    assert.deepEqual(
      summary,
      full.map(({ node_type, title, description, namespace }) => ({ node_type, title, description, namespace })),
    )
  })

  test('listNodeMetadata: combines filters', async () => {
    await using server = await startServer()
    const types = async (query: string) =>
      (await call<NodeMetadata[]>(server, 'GET', `/api/nodes/metadata?${query}`)).body.map(({ node_type }) => node_type)
    assert.ok((await types('namespace=text')).includes('text.Concat'))
    assert.ok((await types('namespace=text')).every((type) => type.startsWith('text.')))
    assert.deepEqual(await types('namespace=tex'), [])
    assert.deepEqual(await types('node_type=control.If'), ['control.If'])
    assert.deepEqual(await types('node_type=control.if'), [])
    assert.ok((await types('q=FOREACH')).includes('control.ForEach'))
    assert.deepEqual(await types('namespace=text&q=concat&node_type=text.Concat'), ['text.Concat'])
    assert.deepEqual(await types('namespace=math&node_type=text.Concat'), [])
    const paths = await refused(server, 'GET', '/api/nodes/metadata?fields=some&q=&x=1', {}, [400, 'invalid_request'])
    assert.deepEqual(paths, ['/query/fields', '/query/q', '/query/x'])
  })
})
