// The launcher stands wherever `node` would: arguments and the exit code pass through it, and so do signals.
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { LAUNCHER, runProcess, SVC } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

let folder: string
let script: string

before(() => {
  folder = temporaryFolder()
  script = join(folder, 'child.mjs')
  writeFileSync(
    script,
    `const [what, value] = process.argv.slice(2)
     if (what === 'exit') { console.log(JSON.stringify(process.argv.slice(2))); process.exit(Number(value)) }
     if (what === 'die') process.kill(process.pid, value)
     process.on(value, () => { console.log('heard ' + value); process.exit(9) })
     console.log('waits')
     setInterval(() => {}, 60_000)`,
  )
})

after(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe('the launcher', () => {
  for (const code of [0, 1, 2, 77]) {
    test(`passes on the exit code ${code}`, async () => {
      await using running = runProcess(LAUNCHER, [script, 'exit', String(code)])
      assert.equal((await running.ended()).code, code)
    })
  }

  test('passes on arguments as they are', async () => {
    await using running = runProcess(LAUNCHER, [script, 'exit', '0', 'a b', '--flag', '"quoted" $HOME'])
    assert.deepEqual(JSON.parse((await running.ended()).stdout), ['exit', '0', 'a b', '--flag', '"quoted" $HOME'])
  })

  test('ends with 128 and the signal’s number where a signal ended the child', async () => {
    await using running = runProcess(LAUNCHER, [script, 'die', 'SIGKILL'])
    assert.equal((await running.ended()).code, 137)
  })

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    test(`passes on ${signal} and waits for the child`, async () => {
      await using running = runProcess(LAUNCHER, [script, 'wait', signal])
      await until('the child', () => running.stdout() === 'waits\n')
      running.kill(signal)
      const { code, stdout } = await running.ended()
      assert.deepEqual([code, stdout], [9, `waits\nheard ${signal}\n`])
    })
  }
})

describe('the svc executable', () => {
  test('passes on arguments and the exit code', async () => {
    await using right = runProcess(SVC, ['--version'])
    assert.match((await right.ended()).stdout, /^\d+\.\d+\.\d+\n$/)
    await using wrong = runProcess(SVC, ['serve', '--mode', 'x'])
    assert.equal((await wrong.ended()).code, 2)
  })

  test('says in a fresh clone what to run before it', async () => {
    const clone = join(folder, 'clone')
    mkdirSync(join(clone, 'src'), { recursive: true })
    cpSync(dirname(SVC), join(clone, 'src/launch'), { recursive: true })
    writeFileSync(
      join(clone, 'package.json'),
      '{"type": "module", "dependencies": {"one-of-ours": "1", "@a/other": "1"}}',
    )
    writeFileSync(join(clone, 'src/main.ts'), "const text: string = 'it starts'\nconsole.log(text)\n")
    const started = async () => {
      await using running = runProcess(join(clone, 'src/launch/svc.mjs'), ['--version'])
      const { code, stdout, stderr } = await running.ended()
      return [code, stdout, stderr]
    }
    const cure = `run "make install" in ${realpathSync(clone)}.\n`
    assert.deepEqual(await started(), [1, '', `svc: 2 packages are not installed: ${cure}`])
    mkdirSync(join(clone, 'node_modules/one-of-ours'), { recursive: true })
    assert.deepEqual(await started(), [1, '', `svc: the package @a/other is not installed: ${cure}`])
    mkdirSync(join(clone, 'node_modules/@a/other'), { recursive: true })
    assert.deepEqual(await started(), [0, 'it starts\n', ''])
  })
})
