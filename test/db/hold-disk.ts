// Mounts a small disk, prints its path, and stays until the process is killed.
import { smallDisk } from './kit.ts'

const disk = smallDisk(64 * 1024)
console.log(disk.path)
setInterval(() => disk, 60_000)
