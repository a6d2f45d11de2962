// What runs are compared with: a bare Express server that parses JSON and gives it back. Run as a process of its own.
import type { AddressInfo } from 'node:net'
import express from 'express'

const app = express()
app.use(express.json())
app.post('/echo', (request, response) => {
  response.json(request.body)
})
const server = app.listen(0, '127.0.0.1', () => {
  console.log(`listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
