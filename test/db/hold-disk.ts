// Mounts a small disk, says where, and stays until it is killed.
import { smallDisk } from './kit.ts'

const disk = smallDisk(64 * 1024)
console.log(disk.path)
setInterval(() => disk, 60_000)
