// `make check-contract`: the version of the publication, and the publication against the last one of the version before, in repositories made for it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type ContractVersion,
  canBreak,
  compareVersions,
  parseVersion,
} from '../../src/codegen/publication/contract-version.ts'
import { inFolder } from '../helpers/folder.ts'
import { check, commit, git, publish } from './repository.ts'

describe('a version of the contract', () => {
  const low = fc.nat({ max: 2 })
  const version = fc.tuple(low, low, low)

  test('is three numbers and nothing else', () => {
    fc.assert(fc.property(version, (one) => assert.deepEqual(parseVersion(one.join('.')), one)))
    for (const text of ['', '1', '1.2', '1.2.3.4', '01.2.3', '1.2.3-rc', 'v1.2.3', '1.2.3\n', '-1.2.3'])
      assert.equal(parseVersion(text), undefined, text)
  })

  test('is higher by the first number that differs', () => {
    const rank = ([first, second, third]: ContractVersion) => first * 9 + second * 3 + third
    fc.assert(
      fc.property(version, version, (a, b) =>
        assert.equal(Math.sign(compareVersions(a, b)), Math.sign(rank(a) - rank(b))),
      ),
    )
  })

  test('may break one with a lower first number, or second number after 0', () => {
    const may = (later: string, earlier: string) => canBreak(parseVersion(later)!, parseVersion(earlier)!)
    for (const [later, earlier] of [
      ['0.2.0', '0.1.9'],
      ['1.0.0', '0.9.0'],
      ['2.0.0', '1.9.9'],
    ] as const)
      assert.deepEqual([may(later, earlier), may(earlier, later)], [true, false])
    for (const [later, earlier] of [
      ['0.1.1', '0.1.0'],
      ['1.0.1', '1.0.0'],
      ['1.1.0', '1.0.0'],
      ['1.0.0', '1.0.0'],
    ] as const)
      assert.equal(may(later, earlier), false, `${later} after ${earlier}`)
  })
})

describe('the contract under another version', () => {
  test(
    'may break under a version whose number says so, and is then held against that one',
    inFolder((folder) => {
      git(folder, 'init', '-q')
      publish(folder, '1.0.0')
      commit(folder)
      const first = String(git(folder, 'rev-parse', 'HEAD')).slice(0, 12)
      publish(folder, '2.0.0', ['/health'])
      const against = `the contract against the last publication of version 1.0.0, ${first}: 1 breaking, as its number allows\n`
      assert.deepEqual(check(folder, 'history'), {
        status: 0,
        stdout: `version 2.0.0 is new: no commit publishes it\n${against}`,
        stderr: '',
      })
      commit(folder)
      assert.match(check(folder).stdout, /^the contract against 0 earlier publications of version 2\.0\.0/)
      publish(folder, '2.0.0', ['/health', '/ready'])
      const { status, stderr } = check(folder)
      assert.equal(status, 3)
      assert.match(stderr, /^breaking GET \/ready \(getReady\) is gone .*\nRaise/)
    }),
  )

  const BREAKS = /^breaking GET \/health \(getHealth\) is gone .*, as published in .{12}\nRaise info\.version/
  for (const [before, after] of [
    ['1.0.0', '1.1.0'],
    ['0.1.0', '0.1.1'],
  ] as const)
    test(
      `may not break from ${before} to ${after}, neither while that is new nor once it is published`,
      inFolder((folder) => {
        git(folder, 'init', '-q')
        publish(folder, before)
        commit(folder)
        publish(folder, after)
        assert.deepEqual([check(folder).status, check(folder).stderr], [0, ''])
        publish(folder, after, ['/health'])
        for (const published of [false, true]) {
          if (published) commit(folder)
          const { status, stderr } = check(folder)
          assert.equal(status, 3)
          assert.match(stderr, BREAKS)
        }
      }),
    )

  test(
    'is compared with the highest version before it, and the last publication of that, though it was there before',
    inFolder((folder) => {
      git(folder, 'init', '-q')
      for (const [version, gone] of [
        ['1.2.0', []],
        ['1.10.0', ['/metrics', '/health']],
        ['1.10.0', ['/metrics']],
        ['1.10.0', ['/metrics', '/health']],
      ] as const) {
        publish(folder, version, gone)
        commit(folder)
      }
      publish(folder, '1.11.0', ['/metrics', '/health'])
      const { status, stdout } = check(folder)
      assert.equal(status, 0)
      assert.match(stdout, /against the last publication of version 1\.10\.0, .{12}: 0 breaking\n$/)
    }),
  )

  test(
    'refuses a version that is lower than one that was published, and what is no version',
    inFolder((folder) => {
      git(folder, 'init', '-q')
      publish(folder, '0.9.0')
      commit(folder)
      publish(folder, '0.10.0')
      commit(folder)
      publish(folder, '0.9.0')
      const { status, stderr } = check(folder)
      assert.equal(status, 3)
      assert.match(stderr, /^version 0\.9\.0 is lower than 0\.10\.0, as published in .{12}\n$/)
      publish(folder, 'next')
      assert.deepEqual(check(folder), { status: 3, stdout: '', stderr: 'next is not a version with three numbers\n' })
    }),
  )
})
