// Room that is kept for a start on a full disk: let go of where it is needed, and taken again when there is some.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ReservedDiskSpace, reservedSpacePath } from '../../../src/db/files/reserved-disk-space.ts'
import { cannotMount, fill, sizeOf, smallDisk } from '../kit.ts'

const WHOLE = 128 * 1024

describe('reserved room', { skip: cannotMount }, () => {
  test('is let go of on a full disk alone, and taken again as far as there is any', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    using disk = smallDisk(4 << 20)
    const path = join(disk.path, 'svc.db')
    const size = () => sizeOf(reservedSpacePath(path))
    writeFileSync(path, 'x')
    {
      using room = new ReservedDiskSpace(path)
      assert.equal(size(), 0)
      room.keepReserved()
      assert.equal(size(), WHOLE)
    }
    {
      using room = new ReservedDiskSpace(path)
      assert.equal(size(), WHOLE)
      room.keepReserved()
    }
    const filled = fill(disk.path)
    using room = new ReservedDiskSpace(path)
    assert.equal(size(), 0)
    // What the start needs.
    writeFileSync(`${path}-shm`, Buffer.alloc(32 * 1024))
    room.keepReserved()
    assert.ok(size() > 0 && size() <= WHOLE - 32 * 1024, `${size()} bytes`)
    t.mock.timers.tick(60_000)
    assert.ok(size() < WHOLE)
    filled[Symbol.dispose]()
    t.mock.timers.tick(60_000)
    assert.equal(size(), WHOLE)
  })

  test('is made by no start that fails, unless it was there', () => {
    using disk = smallDisk(4 << 20)
    const path = join(disk.path, 'svc.db')
    const size = () => sizeOf(reservedSpacePath(path))
    writeFileSync(path, 'x')
    new ReservedDiskSpace(path)[Symbol.dispose]()
    assert.equal(size(), 0)
    {
      using room = new ReservedDiskSpace(path)
      room.keepReserved()
    }
    using _filled = fill(disk.path)
    new ReservedDiskSpace(path)[Symbol.dispose]()
    assert.equal(size(), WHOLE)
  })
})
