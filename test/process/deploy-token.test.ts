// `svc deploy-token` from a script's view: its output streams, its exit codes, and concurrent calls.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { formatUsage } from '../../src/cli/help.ts'
import { svc } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'

const GIVEN = 'sixteen-letters-'
const AT_ONCE = 4

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

const run = (args: readonly string[], environment: Record<string, string> = {}) =>
  svc(['deploy-token', ...args], { SERVER_AUTH_TOKEN: '', ...environment }, { cwd })

describe('svc deploy-token', () => {
  test('writes a new token to deployment.yaml in this folder, and prints it again', async () => {
    const none = await run(['--source'])
    assert.deepEqual([none.code, none.stdout, none.stderr], [0, 'none\n', ''])
    const made = await run([])
    assert.match(made.stdout, /^[\w-]{43}\n$/)
    assert.match(made.stderr, /^svc: a new token was generated, and is stored in \S+deployment\.yaml\n$/)
    const again = await run([])
    assert.deepEqual([again.code, again.stdout], [0, made.stdout])
    assert.match(again.stderr, /^svc: the token comes from \S+deployment\.yaml\n$/)
    const source = await run(['--source'])
    assert.deepEqual([source.code, source.stdout], [0, 'file\n'])
    for (const { stderr } of [made, again, source]) assert.ok(!stderr.includes(made.stdout.trim()))
    assert.deepEqual(readdirSync(cwd), ['deployment.yaml'])
  })

  test('prints the token of the environment, and writes nothing', async () => {
    const given = await run(['--config', 'other.yaml'], { SERVER_AUTH_TOKEN: GIVEN })
    assert.deepEqual(
      [given.code, given.stdout, given.stderr],
      [0, `${GIVEN}\n`, 'svc: the token comes from the environment\n'],
    )
    const source = await run(['--source'], { SERVER_AUTH_TOKEN: GIVEN })
    assert.deepEqual([source.stdout, existsSync(join(cwd, 'other.yaml'))], ['environment\n', false])
  })

  test('prints one token in all concurrent processes', async () => {
    writeFileSync(join(cwd, 'mine.yaml'), '# mine\nimage: svc\n')
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => run(['--config=mine.yaml'])))
    for (const { code, stderr } of answers) assert.equal(code, 0, stderr)
    const [token = '', ...others] = new Set(answers.map(({ stdout }) => stdout.trim()))
    assert.match(token, /^[\w-]{43}$/)
    assert.deepEqual(others, [])
    assert.equal(readFileSync(join(cwd, 'mine.yaml'), 'utf8'), `# mine\nimage: svc\nserver_auth_token: "${token}"\n`)
    assert.deepEqual(readdirSync(cwd), ['mine.yaml'])
  })

  test('refuses an invalid token in a line that does not show it', async () => {
    writeFileSync(join(cwd, 'deployment.yaml'), 'server_auth_token: [hidden]')
    for (const args of [[], ['--source']]) {
      const { code, stdout, stderr } = await run(args)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^svc: server_auth_token in \S+deployment\.yaml is not a text; [^\n]*\n$/)
      assert.ok(!stderr.includes('hidden'))
    }
    const short = await run([], { SERVER_AUTH_TOKEN: 'hidden' })
    assert.deepEqual([short.code, short.stdout], [1, ''])
    assert.match(short.stderr, /^svc: SERVER_AUTH_TOKEN must be [^\n]*\n$/)
    assert.ok(!short.stderr.includes('hidden'))
  })

  for (const [args, message] of [
    [['now'], /unexpected argument "now"/],
    [['--config='], /--config takes the path of a file/],
    [['--show-me'], /Unknown option/],
  ] as const) {
    test(`${args.join(' ')}: is refused with the usage and 2`, async () => {
      const { code, stderr } = await run(args)
      assert.equal(code, 2)
      assert.match(stderr, message)
      assert.ok(stderr.endsWith(`${formatUsage('deploy-token')}\n`))
    })
  }
})
