// Tests the memory of large requests: owners share it, wait for it in turn, and are refused if it does not become free in time.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { FairMemoryAccount } from '../../src/payloads/fair-memory-account.ts'

describe('the memory of large requests', () => {
  test('is refused at once if there never is so much', async () => {
    await assert.rejects(new FairMemoryAccount(1_000).take('a', 751), { code: 'REQUEST_TOO_LARGE' })
  })

  test('is refused if it does not become free in time, and is available once it was released', async () => {
    const account = new FairMemoryAccount(1_000, 20)
    const release = await account.take('a', 700)
    await assert.rejects(account.take('a', 100), { code: 'SERVICE_UNAVAILABLE' })
    release()
    release()
    await account.take('a', 700)
    await assert.rejects(account.take('a', 100), { code: 'SERVICE_UNAVAILABLE' })
  })

  test('has room for an owner with little while another one has much', async () => {
    const account = new FairMemoryAccount(1_000, 20)
    await account.take('a', 750)
    await account.take('b', 125)
    await assert.rejects(account.take('b', 10), { code: 'SERVICE_UNAVAILABLE' })
    await account.take('c', 100)
  })

  test('is taken at once by runs, or not at all', async () => {
    const account = new FairMemoryAccount(1_000, 5_000)
    assert.deepEqual(
      [account.change('a', 500), account.change('a', 300), account.change('a', 250)],
      [true, false, true],
    )
    assert.deepEqual([account.change('b', 125), account.change('b', 10)], [true, false])
    const waiting = account.take('c', 200)
    account.change('a', -750)
    await waiting
    assert.equal(account.change('b', 425), true)
  })

  test('goes first to the owner with least, and in order for one owner', async () => {
    const account = new FairMemoryAccount(1_000, 5_000)
    const order: string[] = []
    const [one, two] = [await account.take('a', 300), await account.take('a', 300)]
    const taken = async (owner: string) => {
      const release = await account.take(owner, 300)
      order.push(owner)
      return release
    }
    const third = taken('a')
    const fourth = taken('b')
    one()
    const other = await fourth
    assert.deepEqual(order, ['b'])
    two()
    await third
    other()
    assert.deepEqual(order, ['b', 'a'])
  })
})

test('parts of the heap do not include the space for new objects', () => {
  const module = new URL('../../src/payloads/fair-memory-account.ts', import.meta.url)
  const code = `import { heapShareBytes } from '${module}'; console.log(heapShareBytes(1))`
  for (const most of [256, 4_096]) {
    const args = [`--max-old-space-size=${most}`, '--input-type=module', '--eval', code]
    const bytes = Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    assert.ok(bytes > 0 && bytes <= most * 1_048_576, `${bytes} of ${most} MiB`)
  }
})
