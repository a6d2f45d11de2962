// `svc run` from the view of people and scripts: its output streams and its exit codes, in real processes.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { loadExamples } from '../../src/workflows/examples.ts'
import { delayed, echo, failing, graphOf } from '../cli/kit.ts'
import { MAIN, runInTerminal, runProcess, SVC, serve, storedJobs, svc } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

let folder: string
before(() => {
  folder = temporaryFolder()
})
after(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const QUIET = '--quiet'

describe('svc run that completes', () => {
  test('writes the outputs to standard output and the progress to standard error, without escape codes', async () => {
    const { code, stdout, stderr } = await svc(['run', 'greeting', '--param', 'name=Grace'])
    assert.deepEqual([code, stdout], [0, '{\n  "greeting": "Hello, Grace!"\n}\n'])
    assert.match(
      stderr,
      /^name done in \d+ ms\ntemplate done in \d+ ms\ngreeting done in \d+ ms\ncompleted: 3 nodes in \d+ ms\n$/,
    )
  })

  test('prints no progress with --quiet', async () => {
    const { code, stdout, stderr } = await svc(['run', 'greeting', QUIET])
    assert.deepEqual([code, JSON.parse(stdout), stderr], [0, loadExamples().get('greeting')!.outputs, ''])
  })

  test('accepts a record, a bare graph and standard input', async () => {
    const graph = echo({ name: 'x', type: 'Integer' })
    const bare = JSON.stringify(graph)
    const record = JSON.stringify({ id: 'wf_1', name: 'Echo', description: '', graph, etag: 'e' })
    for (const text of [bare, record, `\ufeff${bare}`]) {
      const fromFile = await svc(['run', file('echo.json', text), '--param', 'x=5', QUIET])
      const fromStdin = await svc(['run', '-', '--param', 'x=5', QUIET], {}, { stdin: text })
      for (const { code, stdout } of [fromFile, fromStdin]) assert.deepEqual([code, JSON.parse(stdout)], [0, { x: 5 }])
    }
  })

  test('prints a streamed output as a list, and null for an output without a value', async () => {
    const graph = graphOf(
      [
        { id: 'in', type: 'input.Integer', data: { name: 'numbers', stream: true } },
        { id: 'out', type: 'output.Output', data: { name: 'numbers' } },
        { id: 'if', type: 'control.If', data: { condition: false, value: 1 } },
        { id: 'never', type: 'output.Output', data: { name: 'never' } },
      ],
      ['in.output>out.value', 'if.if_true>never.value'],
    )
    const path = file('stream.json', graph)
    const { stdout } = await svc(['run', path, '--param', 'numbers=1', '--param', 'numbers=2', QUIET])
    assert.deepEqual(JSON.parse(stdout), { numbers: [1, 2], never: null })
    const empty = await svc(['run', path, QUIET])
    assert.deepEqual([empty.code, JSON.parse(empty.stdout)], [0, { numbers: [], never: null }])
  })

  test('uses the params of a record, and overrides single ones', async () => {
    const graph = echo({ name: 'a', type: 'String' }, { name: 'b', type: 'String' })
    const path = file('own.json', { graph, params: { a: '1', b: '2' } })
    assert.deepEqual(JSON.parse((await svc(['run', path, '--param', 'b=3', QUIET])).stdout), { a: '1', b: '3' })
  })

  test('returns from runInTerminal what a test of an example needs', async () => {
    const { params, outputs } = loadExamples().get('expense-check')!
    assert.deepEqual(await runInTerminal('expense-check', params), { code: 0, outputs, stderr: '' })
  })

  test('works through the executable as well', async () => {
    await using running = runProcess(SVC, ['run', 'greeting', QUIET])
    const { code, stdout } = await running.ended()
    assert.deepEqual([code, JSON.parse(stdout)], [0, { greeting: 'Hello, Ada!' }])
  })

  test('gives its nodes the services of a server, prints their lines, and ends', async () => {
    const graph = graphOf(
      [
        {
          id: 'code',
          type: 'code.JavaScript',
          data: { code: 'console.warn("\\u001b[31mcareful"); return { x: 6 * 7 }' },
          dynamic_outputs: { x: { type: 'int' } },
        },
        { id: 'out', type: 'output.Output', data: { name: 'x' } },
      ],
      ['code.x>out.value'],
    )
    const { code, stdout, stderr } = await svc(['run', '-'], {}, { stdin: JSON.stringify(graph) })
    assert.deepEqual([code, JSON.parse(stdout)], [0, { x: 42 }], stderr)
    assert.match(stderr, /^warning: code \(JavaScript\): careful$/m)
  })

  test('prints no stack of an error that a Catch handles', async () => {
    const args = ['run', 'convert-money', '--param', 'url=http://127.0.0.1:9999/x']
    const { code, stderr } = await svc(args)
    assert.equal(code, 0)
    assert.match(stderr, /^warning: ask \(HTTP request\): Failed, and a Catch received the failure: /m)
    assert.doesNotMatch(stderr, /\n\s+at |fault:/)
    assert.equal((await svc([...args, QUIET])).stderr, '')
  })

  test('writes the frames of /ws as lines on request', async () => {
    const { code, stdout, stderr } = await svc(['run', 'greeting', '--json-events'])
    const frames = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.deepEqual([code, JSON.parse(stdout)], [0, { greeting: 'Hello, Ada!' }])
    assert.deepEqual([frames[0]!.type, frames[0]!.status], ['job_update', 'running'])
    assert.deepEqual([frames.at(-1)!.type, frames.at(-1)!.status], ['job_update', 'completed'])
    assert.deepEqual(
      frames.filter(({ type }) => type === 'output_update').map(({ output_name, value }) => [output_name, value]),
      [['greeting', 'Hello, Ada!']],
    )
    assert.equal(new Set(frames.map(({ job_id }) => job_id)).size, 1)
  })

  test('ignores a closed reader of its output', () => {
    const list = Array.from({ length: 100_000 }, (_, index) => index)
    const path = file('long.json', { graph: echo({ name: 'list', type: 'List' }), params: { list } })
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', `"${process.execPath}" "${MAIN}" run "${path}" --quiet | head -c 10; true`],
      { encoding: 'utf8' },
    )
    assert.deepEqual([status, stderr], [0, ''])
  })
})

describe('svc run of a job that does not complete', () => {
  test('prints the failed node, its type and the message, and ends with 1', async () => {
    const { code, stdout, stderr } = await svc(['run', file('failing.json', failing())])
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^read \(Read JSON\) failed in \d+ ms$/m)
    assert.match(stderr, /^svc: failed at node "read" \(json\.Parse\): The text is not JSON: .* \(not_json\)$/m)
  })

  test('prints only the error of a failed job with --quiet', async () => {
    const { code, stderr } = await svc(['run', file('failing.json', failing()), QUIET])
    assert.equal(code, 1)
    assert.match(stderr, /^svc: failed at node "read"[^\n]+\n$/)
  })

  test('ends with 124 after a timeout', async () => {
    const { code, stdout, stderr } = await svc(['run', file('slow.json', delayed(1, 3_600)), '--timeout', '0.2'])
    assert.deepEqual([code, stdout], [124, ''])
    assert.match(
      stderr,
      /^timed out: 5 nodes in .*, 3 not finished\nsvc: timed out: The run did not finish within 0\.2 s\. \(timed_out\)\n$/m,
    )
  })

  test('ends with 124 after the timeout of the setting for all jobs', async () => {
    const { code } = await svc(['run', file('slow.json', delayed(1, 3_600)), QUIET], { SVC_JOB_TIMEOUT_SECONDS: '1' })
    assert.equal(code, 124)
  })

  for (const [signal, expected] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`ends with ${expected} when ${signal} cancels it`, async () => {
      await using running = runProcess(MAIN, ['run', file('slow.json', delayed(1, 3_600))])
      await until('the run to wait', () => running.stderr().includes('each (For each) done'))
      running.kill(signal)
      const { code, stdout, stderr } = await running.ended()
      assert.deepEqual([code, stdout], [expected, ''])
      assert.match(stderr, /^cancelled: 5 nodes in .*, 3 not finished\n$/m)
    })
  }

  test('ends with 130 when a terminal and its launcher both send a signal', async () => {
    await using running = runProcess(SVC, ['run', file('slow.json', delayed(1, 3_600))])
    await until('the run to wait', () => running.stderr().includes('each (For each) done'))
    running.kill('SIGINT')
    running.kill('SIGINT')
    const { code, stderr } = await running.ended()
    assert.equal(code, 130)
    assert.match(stderr, /^cancelled: /m)
  })

  test('ends with 130 when a signal comes again while the process ends', async () => {
    await using running = runProcess(SVC, ['run', file('slow.json', delayed(1, 3_600))])
    await until('the run to wait', () => running.stderr().includes('each (For each) done'))
    const again = setInterval(() => running.kill('SIGINT'), 1)
    const { code, signal } = await running.ended().finally(() => clearInterval(again))
    assert.deepEqual([code, signal], [130, null])
  })

  test('prints all invalid settings, and ends with 1', async () => {
    const { code, stderr } = await svc(['run', 'greeting'], { SVC_LOG_LEVEL: 'loud', SVC_MAX_BODY_BYTES: '1' })
    assert.equal(code, 1)
    assert.match(stderr, /^svc: SVC_LOG_LEVEL must be .*\nsvc: SVC_MAX_BODY_BYTES must be .*\n$/)
  })
})

describe('svc run of an invalid workflow', () => {
  const cases: Record<string, { make: () => string; code: number; message: RegExp }> = {
    'no such file': {
      make: () => 'greting',
      code: 2,
      message: /no file "greting", and no example of that name\. Did you mean "greeting"\?/,
    },
    'no such file and nothing like it': {
      make: () => 'a/b.json',
      code: 2,
      message: /no file "a\/b\.json".* svc examples lists the examples/,
    },
    'a folder': { make: () => folder, code: 2, message: /cannot be read: it is a folder/ },
    'an empty file': { make: () => file('empty.json', ' \n'), code: 3, message: /empty\.json is empty/ },
    'no JSON': {
      make: () => file('not.json', '{\n  "nodes": [],\n}'),
      code: 3,
      message: /not\.json:3:1: this is not JSON: Expected double-quoted property name/,
    },
    'no UTF-8': {
      make: () => {
        const path = join(folder, 'latin.json')
        writeFileSync(path, Buffer.from([0x22, 0xe9, 0x22]))
        return path
      },
      code: 3,
      message: /latin\.json is not text in UTF-8/,
    },
    'another JSON': {
      make: () => file('list.json', '[1]'),
      code: 3,
      message: /list\.json is not a workflow: it needs "nodes" and "edges"/,
    },
    'an object of something else': {
      make: () => file('other.json', '{"name": "x"}'),
      code: 3,
      message: /it needs "nodes" and "edges"/,
    },
    'a graph that is null': {
      make: () => file('null.json', '{"graph": null}'),
      code: 3,
      message: /\/graph: must be object/,
    },
    'params that are a list': {
      make: () => file('params.json', { graph: { nodes: [], edges: [] }, params: [] }),
      code: 3,
      message: /\/params: must be object or null/,
    },
    'values that are nested too deeply': {
      make: () => file('deep.json', `{"nodes": [], "edges": ${'['.repeat(70)}${']'.repeat(70)}}`),
      code: 3,
      message: /deep\.json: It is nested deeper than 64 levels/,
    },
  }
  for (const [what, { make, code, message }] of Object.entries(cases)) {
    test(`refuses the workflow with one line: ${what}`, async () => {
      const ended = await svc(['run', make()])
      assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr)
      assert.match(ended.stderr, message)
      assert.doesNotMatch(ended.stderr, /\n\s+at /)
    })
  }

  test('prints every wrong place with its path in the file', async () => {
    const graph = { nodes: [{ id: 1, type: 'x', data: {} }, { id: 'b' }], edges: [{}] }
    const inRecord = await svc(['run', '-'], {}, { stdin: JSON.stringify({ name: 'x', graph }) })
    assert.deepEqual([inRecord.code, inRecord.stdout], [3, ''])
    for (const path of [
      '/graph/nodes/0/id: must be string',
      '/graph/nodes/1/type: is required',
      '/graph/edges/0/source: is required',
    ]) {
      assert.ok(inRecord.stderr.includes(`\n  ${path}\n`), inRecord.stderr)
    }
    const bare = await svc(['run', '-'], {}, { stdin: JSON.stringify(graph) })
    assert.ok(bare.stderr.includes('\n  /nodes/0/id: must be string\n'), bare.stderr)
  })

  test('refuses a file beyond the limit for bodies', async () => {
    const path = file('large.json', `{"nodes": [], "edges": []}${' '.repeat(2_000)}`)
    const { code, stderr } = await svc(['run', path], { SVC_MAX_BODY_BYTES: '1024' })
    assert.equal(code, 3)
    assert.match(stderr, /large\.json is larger than 1024 bytes \(SVC_MAX_BODY_BYTES\)/)
  })

  test('refuses an unreadable file', { skip: process.getuid?.() === 0 && 'root reads everything' }, async () => {
    const path = file('secret.json', '{}')
    chmodSync(path, 0)
    const { code, stderr } = await svc(['run', path])
    assert.equal(code, 2)
    assert.match(stderr, /this user may not read it/)
  })

  test('prints every problem of a graph with its node, and ends with 3', async () => {
    const graph = graphOf(
      [
        { id: 'a', type: 'text.Templat', data: {} },
        { id: 'o', type: 'output.Output', data: {} },
      ],
      [],
    )
    const { code, stdout, stderr } = await svc(['run', file('bad.json', graph)])
    assert.deepEqual([code, stdout], [3, ''])
    assert.match(stderr, /^error a: .*Did you mean "text\.Template"\? \(unknown_node\)$/m)
    assert.match(stderr, /^error o\.name: .* \(missing_property\)$/m)
    assert.match(stderr, /^svc: .*bad\.json cannot run: 3 errors$/m)
  })

  test('prints all params that do not match, and ends with 3', async () => {
    const path = file('echo.json', echo({ name: 'age', type: 'Integer' }))
    const { code, stdout, stderr } = await svc(['run', path, '--param', 'agee=4'])
    assert.deepEqual([code, stdout], [3, ''])
    assert.equal(
      stderr,
      'svc: the parameters do not fit the workflow\n' +
        '  /agee: The workflow has no input "agee". Its inputs are "age". Did you mean "age"?\n' +
        '  /age: The input "age" (int) is required.\n',
    )
  })
})

describe('svc run beside servers', () => {
  test('needs no data folder, makes none, and leaves no file', async () => {
    const home = join(folder, 'home')
    const temporary = join(folder, 'tmp')
    const cwd = join(folder, 'cwd')
    for (const one of [home, temporary, cwd]) mkdirSync(one)
    const environment = { HOME: home, TMPDIR: temporary, SVC_DATA_DIR: join(home, 'data') }
    for (const args of [
      ['run', 'greeting'],
      ['validate', 'greeting'],
      ['run', file('failing.json', failing())],
    ]) {
      await svc(args, environment, { cwd })
    }
    for (const one of [home, temporary, cwd]) assert.deepEqual(readdirSync(one), [])
  })

  test('does not affect a running server on the same folder, and is not affected by it', async () => {
    const data_dir = join(folder, 'served')
    await using server = await serve(data_dir)
    const { code, stdout } = await svc(['run', 'greeting', QUIET], { SVC_DATA_DIR: data_dir })
    assert.deepEqual([code, JSON.parse(stdout)], [0, { greeting: 'Hello, Ada!' }])
    assert.equal(storedJobs(data_dir, 'completed'), 0)
    assert.equal((await fetch(`${server.url}/health`)).status, 200)
  })
})
