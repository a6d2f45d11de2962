// Disk space that is reserved for a start on a full disk: released when it is needed, and reserved again when there is room.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ReservedDiskSpace, reservedSpacePath } from '../../../src/db/files/reserved-disk-space.ts'
import { cannotMount, fill, sizeOf, smallDisk } from '../kit.ts'

const WHOLE = 128 * 1024

describe('reserved room', { skip: cannotMount }, () => {
  test('is released only on a full disk, and reserved again as far as there is room', (t) => {
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
    // The space that the start needs.
    writeFileSync(`${path}-shm`, Buffer.alloc(32 * 1024))
    room.keepReserved()
    assert.ok(size() > 0 && size() <= WHOLE - 32 * 1024, `${size()} bytes`)
    t.mock.timers.tick(60_000)
    assert.ok(size() < WHOLE)
    filled[Symbol.dispose]()
    t.mock.timers.tick(60_000)
    assert.equal(size(), WHOLE)
  })

  test('is not created by a failing start, unless it existed', () => {
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
