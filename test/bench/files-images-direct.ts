// The image library called directly, as a process of its own: reads a picture from a file, makes it smaller, writes it in another format and to the
// disk, as often as the arguments say. Tells the milliseconds that each took.
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'

const [source = '', folder = '', width = '', count = '', at_once = ''] = process.argv.slice(2)

async function once(name: string): Promise<void> {
  const bytes = await sharp(await readFile(source))
    .resize({ width: Number(width) })
    .webp()
    .toBuffer()
  await using file = await open(join(folder, name), 'w')
  await file.writeFile(bytes)
  await file.sync()
}

await once('first')
const from = performance.now()
let next = 0
const worker = async () => {
  while (next < Number(count)) await once(`${next++}`)
}
await Promise.all(Array.from({ length: Number(at_once) }, worker))
console.log((performance.now() - from) / Number(count))
