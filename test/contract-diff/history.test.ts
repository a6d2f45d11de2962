// `make check-contract`: the publication against those of its version, in repositories made for it.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sampleEvenly } from '../../src/codegen/publication/git-history.ts'
import { inFolder } from '../helpers/folder.ts'
import { check, commit, git, publish } from './repository.ts'

describe('the history of the contract', () => {
  test(
    'may grow and not break under one version',
    inFolder((folder) => {
      git(folder, 'init', '-q')
      publish(folder, '1.0.0', ['/api/jobs', '/metrics'])
      commit(folder)
      const first = String(git(folder, 'rev-parse', 'HEAD')).slice(0, 12)
      publish(folder, '1.0.0', ['/metrics'])
      commit(folder)
      publish(folder, '1.0.0')
      const grown = check(folder)
      assert.deepEqual([grown.status, grown.stderr], [0, ''])
      assert.match(
        grown.stdout,
        new RegExp(`against 2 earlier publications of version 1\\.0\\.0, since ${first}: 0 break`),
      )
      publish(folder, '1.0.0', ['/health'])
      const broken = check(folder)
      assert.equal(broken.status, 3)
      assert.match(
        broken.stderr,
        /^breaking GET \/health \(getHealth\) is gone \(operation-removed\), as published in .{12}\nRaise info\.version/,
      )
    }),
  )

  test(
    'may not break what came under the same version, was served, and is no longer in the first or the last publication of it',
    inFolder((folder) => {
      git(folder, 'init', '-q')
      publish(folder, '1.0.0', [], ['/health'])
      commit(folder)
      publish(folder, '1.0.0')
      commit(folder)
      publish(folder, '1.0.0', [], ['/health'])
      commit(folder)
      publish(folder, '1.0.0', ['/health'])
      const { status, stderr } = check(folder)
      assert.equal(status, 3)
      const middle = String(git(folder, 'rev-parse', 'HEAD~1')).slice(0, 12)
      assert.match(stderr, new RegExp(`^breaking GET /health \\(getHealth\\) is gone .*, as published in ${middle}\n`))
    }),
  )

  test(
    'may not break what only a merge has left behind',
    inFolder((folder) => {
      git(folder, 'init', '-q', '-b', 'main')
      publish(folder, '1.0.0', ['/health'])
      commit(folder)
      git(folder, 'checkout', '-q', '-b', 'side')
      publish(folder, '1.0.0')
      commit(folder)
      git(folder, 'checkout', '-q', 'main')
      git(folder, 'merge', '-q', '--no-ff', '-s', 'ours', '-m', 'A merge', 'side')
      assert.equal(check(folder).status, 3)
    }),
  )

  test('is compared in even steps where it is long', () => {
    const all = Array.from({ length: 1000 }, (_one, index) => index)
    const some = sampleEvenly(all)
    assert.deepEqual([some.length, new Set(some).size, some[0], some.at(-1)], [100, 100, 0, 999])
    for (const [index, one] of some.slice(1).entries()) assert.ok(Math.abs(one - some[index]! - 10) <= 1)
    assert.deepEqual(sampleEvenly(all.slice(0, 100)), all.slice(0, 100))
  })

  test(
    'is skipped before anything was published',
    inFolder((folder) => {
      git(folder, 'init', '-q')
      git(folder, 'commit', '-q', '--allow-empty', '-m', 'A commit')
      publish(folder, '1.0.0')
      const stdout = 'skipped: no commit has a publication of the contract yet\n'
      assert.deepEqual(check(folder), { status: 0, stdout, stderr: '' })
    }),
  )

  test(
    'is skipped where it cannot be seen, unless it is expected',
    inFolder((folder) => {
      const bare = join(folder, 'bare')
      publish(bare, '1.0.0')
      assert.match(check(bare).stdout, /^skipped: this folder has no git history/)
      const whole = join(folder, 'whole')
      mkdirSync(whole)
      git(whole, 'init', '-q')
      for (const version of ['1.0.0', '1.1.0']) {
        publish(whole, version)
        commit(whole)
      }
      git(folder, 'clone', '-q', '--depth', '1', `file://${whole}`, 'shallow')
      assert.deepEqual(check(join(folder, 'shallow')), {
        status: 0,
        stdout: 'skipped: this clone is shallow and lacks the older history\n',
        stderr: '',
      })
      assert.deepEqual(check(join(folder, 'shallow'), 'chromium,history'), {
        status: 1,
        stdout: '',
        stderr: 'this clone is shallow and lacks the older history, but SVC_TEST_EXPECT expects the history\n',
      })
      assert.equal(check(bare, 'history').status, 1)
      assert.equal(check(whole, 'history').status, 0)
    }),
  )
})
