import { isRaw, type Method, type RouteSpec } from './route.ts'
import { type Routes, routes } from './routes/index.ts'

/** As much of a route as its caller needs to know at run time. */
export interface Shape {
  method: Method
  path: string
  /** Whether the last parameter takes the rest of the path, slashes included. */
  rest?: true
  /** The type of a body that is not JSON. */
  file?: string
  /** Statuses whose body is not JSON. */
  raw?: number[]
}

export const shapes = Object.fromEntries(
  Object.entries<RouteSpec>(routes).map(([name, { method, path, rest, file, responses }]): [string, Shape] => {
    const raw = Object.keys(responses)
      .map(Number)
      .filter(status => isRaw(responses[status]))
    return [name, { method, path, ...(rest && { rest }), ...(file && { file }), ...(raw.length > 0 && { raw }) }]
  }),
) as Record<keyof Routes, Shape>
