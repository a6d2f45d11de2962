// `svc run` of workflows that call others: the file or example that a name means, and the error for an unknown name.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { echo, failing, graphOf } from '../cli/kit.ts'
import { svc } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'

let folder: string
let main: string

before(() => {
  folder = temporaryFolder()
  main = join(folder, 'main')
  mkdirSync(join(main, 'parts'), { recursive: true })
  writeFileSync(join(main, 'inner.json'), JSON.stringify({ name: 'Inner', graph: shout('inner') }))
  writeFileSync(join(main, 'parts', 'deep.json'), JSON.stringify(shout('deep')))
  writeFileSync(join(folder, 'outside.json'), JSON.stringify(shout('outside')))
  symlinkSync(join(folder, 'outside.json'), join(main, 'link.json'))
  symlinkSync(folder, join(main, 'up'))
  writeFileSync(join(main, 'broken.json'), '{')
  writeFileSync(join(main, 'failing.json'), JSON.stringify(failing()))
})
after(() => rmSync(folder, { recursive: true, force: true }))

/** Joins a fixed text and its input. */
function shout(text: string) {
  return graphOf(
    [
      { id: 'in', type: 'input.String', data: { name: 'x' } },
      { id: 'join', type: 'text.Concat', data: { a: `${text} ` } },
      { id: 'out', type: 'output.Output', data: { name: 'y' } },
    ],
    ['in.output>join.b', 'join.output>out.value'],
  )
}

function calling(workflow_id: string) {
  return graphOf(
    [
      { id: 'in', type: 'input.String', data: { name: 'x', value: 'says' } },
      { id: 'call', type: 'workflow.Call', data: { workflow_id }, dynamic_outputs: { y: { type: 'str' } } },
      { id: 'out', type: 'output.Output', data: { name: 'y' } },
    ],
    ['in.output>call.x', 'call.y>out.value'],
  )
}

async function run(workflow_id: string, ...args: string[]) {
  const path = join(main, 'main.json')
  writeFileSync(path, JSON.stringify(calling(workflow_id)))
  const { code, stdout, stderr } = await svc(['run', path, '--quiet', ...args])
  return { code, outputs: stdout === '' ? null : JSON.parse(stdout), stderr }
}

describe('a called workflow', () => {
  test('is a file beside the calling one, or below', async () => {
    assert.deepEqual(await run('./inner.json'), { code: 0, outputs: { y: 'inner says' }, stderr: '' })
    assert.deepEqual(await run('./parts/deep.json'), { code: 0, outputs: { y: 'deep says' }, stderr: '' })
  })

  test('is the file that --workflow names, even where other files have that name', async () => {
    const outside = join(folder, 'outside.json')
    for (const id of ['anything', 'greeting', './inner.json']) {
      assert.deepEqual(await run(id, '--workflow', `${id}=${outside}`), {
        code: 0,
        outputs: { y: 'outside says' },
        stderr: '',
      })
    }
  })

  test('is a bundled example', async () => {
    const { code, stdout } = await svc(['run', 'greet-everyone', '--param', 'names=["Ada"]', '--quiet'])
    assert.deepEqual([code, JSON.parse(stdout)], [0, { greetings: 'Hello, Ada!' }])
  })

  test('of a workflow from standard input is found in the working folder', async () => {
    const stdin = JSON.stringify(calling('./inner.json'))
    const { stdout } = await svc(['run', '-', '--quiet'], {}, { stdin, cwd: main })
    assert.deepEqual(JSON.parse(stdout), { y: 'inner says' })
  })
})

describe('a missing called workflow', () => {
  const REFUSED: readonly (readonly [what: string, id: string, message: RegExp])[] = [
    [
      'an unknown name',
      'nothing',
      /There is no workflow "nothing" here\. .*--workflow nothing=FILE\. \(workflow_not_found\)/,
    ],
    ['no such file', './none.json', /"\.\/none\.json" cannot be called: .*no such file.* \(workflow_unusable\)/],
    ['a file outside of the folder', './../outside.json', /lies outside of the folder/],
    ['a link that leads out of it', './link.json', /lies outside of the folder/],
    ['a file behind such a link', './up/outside.json', /lies outside of the folder/],
    ['a path upwards', '../outside.json', /There is no workflow "\.\.\/outside\.json" here/],
    ['an absolute path', '/etc/passwd', /There is no workflow "\/etc\/passwd" here/],
    ['no JSON', './broken.json', /broken\.json:1:2: this is not JSON/],
  ]
  for (const [what, id, message] of REFUSED) {
    test(`${what} fails the run at the node that calls`, async () => {
      const { code, outputs, stderr } = await run(id)
      assert.deepEqual([code, outputs], [1, null])
      assert.match(stderr, /^svc: failed at node "call" \(workflow\.Call\): /)
      assert.match(stderr, message)
    })
  }

  test('that fails is reported with its node', async () => {
    const path = join(main, 'calls-failing.json')
    const graph = graphOf(
      [
        { id: 'call', type: 'workflow.Call', data: { workflow_id: './failing.json' }, dynamic_outputs: { out: {} } },
        { id: 'out', type: 'output.Output', data: { name: 'out' } },
      ],
      ['call.out>out.value'],
    )
    writeFileSync(path, JSON.stringify(graph))
    const { code, stderr } = await svc(['run', path, '--quiet'])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /failed at node "call" .*Workflow "\.\/failing\.json" failed at node "read": The text is not JSON/,
    )
  })

  test('that --workflow names is read before anything runs', async () => {
    assert.equal((await run('x', '--workflow', `x=${join(main, 'broken.json')}`)).code, 3)
    assert.equal((await run('x', '--workflow', `x=${join(main, 'none.json')}`)).code, 2)
    const bad = join(main, 'bad.json')
    writeFileSync(bad, JSON.stringify(graphOf([{ id: 'a', type: 'no.Such', data: {} }], [])))
    const { code, stderr } = await run('x', '--workflow', `x=${bad}`)
    assert.equal(code, 3)
    assert.match(stderr, /bad\.json cannot run: There is no node type "no\.Such"/)
    const twice = await run('x', '--workflow', `x=${bad}`, '--workflow', `x=${bad}`)
    assert.equal(twice.code, 3)
  })
})

describe('svc validate of workflows that call others', () => {
  test('warns of calls to unknown workflows, and ends as valid', async () => {
    const path = join(main, 'main.json')
    writeFileSync(path, JSON.stringify(calling('./none.json')))
    const { code, stdout } = await svc(['validate', path])
    assert.equal(code, 0)
    assert.match(stdout, /^warning call\.workflow_id: .*no such file.* \(workflow_unusable\)$/m)
    assert.match(stdout, /is valid: 3 nodes, 2 edges, 1 warning$/m)
  })

  test('warns of agents’ tools that are unknown workflows', async () => {
    const tools = ['workflow/greting', './inner.json', 'math.Formula', { workflow_id: './none.json' }]
    const path = join(main, 'agent.json')
    writeFileSync(
      path,
      JSON.stringify(graphOf([{ id: 'a', type: 'agent.Run', data: { model: 'x/y', prompt: 'x', tools } }], [])),
    )
    const { code, stdout } = await svc(['validate', path])
    assert.equal(code, 0, stdout)
    assert.deepEqual(stdout.split('\n').filter((line) => line.startsWith('warning a.tools')).length, 2, stdout)
    assert.match(stdout, /a\.tools: There is no workflow "greting" here\. Did you mean the example "greeting"\?/)
    assert.match(stdout, /a\.tools: .*none\.json.*no such file/)
  })

  test('prints no warning of calls to known workflows', async () => {
    const path = join(main, 'main.json')
    writeFileSync(path, JSON.stringify(calling('x')))
    const file = join(main, 'echo.json')
    writeFileSync(file, JSON.stringify(echo({ name: 'x', type: 'String' })))
    const { code, stdout } = await svc(['validate', path, '--workflow', `x=${file}`])
    assert.equal(code, 0)
    assert.doesNotMatch(stdout, /warning/)
  })
})
