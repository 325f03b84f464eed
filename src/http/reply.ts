import type { ServerResponse } from 'node:http'
import type { Output, RouteSpec } from '../api/route.ts'

type Headers = Record<string, string>

/** JSON with another status than the first declared one, or with headers. */
export class Reply<T> {
  readonly status: number
  readonly body: T
  readonly headers: Headers

  constructor(status: number, body: T, headers: Headers = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** A body that is text or bytes already. Events go out like this as they are stored, without being taken apart. */
export class Plain {
  readonly type: string
  readonly body: string | Uint8Array
  readonly headers: Headers

  constructor(type: string, body: string | Uint8Array, headers: Headers = {}) {
    this.type = type
    this.body = body
    this.headers = headers
  }
}

/** A body that is written as it comes. Contract: `open` must not throw. */
export class Streamed {
  readonly type: string
  readonly open: (out: ServerResponse) => void

  constructor(type: string, open: (out: ServerResponse) => void) {
    this.type = type
    this.open = open
  }
}

export type Result<R extends RouteSpec> = Output<R> | Reply<Output<R>> | Plain | Streamed
