// Takes the data folder of its first argument, says so, and holds it until the process is killed.
import { openDataFolder } from '../../../src/db/files/data-folder.ts'

openDataFolder(process.argv[2]!, `process ${process.pid}, held by a test`)
console.log('held')
setInterval(() => {}, 60_000)
