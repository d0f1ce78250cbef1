// Reads the part of the expression language that conditions of forms use: values, names, lists,
// arithmetic, comparisons, and, or, not, in, ??, ?:, contains, startsWith, endsWith and len. The
// server reads the whole language (docs/decisions/022-rules-of-forms.md): parse returns null for
// what this file does not know, and the form then uses the answer of the server.

class Unknown extends Error {}
const refuse = () => { throw new Unknown(); };

const words = new Set(["and", "or", "not", "in", "contains", "startsWith", "endsWith"]);
const token = /\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|("(?:[^"\\]|\\["\\])*"|'(?:[^'\\]|\\['\\])*')|(\?\?|\?\.|&&|\|\||==|!=|<=|>=|\*\*|[-+*/%<>!?:,.()[\]]))/y;

function tokens(text) {
  const out = [];
  token.lastIndex = 0;
  for (let at = 0; text.slice(at).trim() !== ""; at = token.lastIndex) {
    const found = token.exec(text) ?? refuse();
    const [, number, name, quoted, sign] = found;
    if (number !== undefined) out.push({ value: Number(number) });
    else if (quoted !== undefined) out.push({ value: quoted.slice(1, -1).replace(/\\(.)/g, "$1") });
    else if (words.has(name)) out.push({ sign: name });
    else if (name !== undefined) out.push({ name });
    else out.push({ sign });
  }
  return out;
}

// The binary operators by how tightly they bind. Operators of one row join from the left.
const levels = [
  ["||", "or"], ["&&", "and"], ["==", "!=", "<", "<=", ">", ">=", "in", "contains", "startsWith", "endsWith"], ["+", "-"], ["*", "/"],
];

const orders = new Set(["<", "<=", ">", ">="]);

// parse returns a function from a reader of names to a value, or null.
export function parse(text) {
  try {
    const parser = new Parser(tokens(text));
    const evaluate = parser.choice();
    return parser.list.length === parser.at ? evaluate : null;
  } catch (error) {
    if (error instanceof Unknown) return null;
    throw error;
  }
}

class Parser {
  constructor(list) {
    this.list = list;
    this.at = 0;
  }

  take(...signs) {
    const sign = this.list[this.at]?.sign;
    if (sign === undefined || !signs.includes(sign)) return null;
    this.at++;
    return sign;
  }

  need(sign) {
    return this.take(sign) ?? refuse();
  }

  choice() {
    const test = this.binary(0);
    if (!this.take("?")) return test;
    const yes = this.choice();
    this.need(":");
    const no = this.choice();
    return (read) => (truth(test(read)) ? yes(read) : no(read));
  }

  binary(level) {
    if (level === levels.length) return this.unary();
    let left = this.binary(level + 1);
    let ordering = false;
    for (;;) {
      const negated = level === 2 && this.list[this.at]?.sign === "not" && this.list[this.at + 1]?.sign === "in";
      if (negated) this.at++;
      const sign = this.take(...levels[level]);
      if (!sign) return left;
      // The server reads 0 < n < 5 as 0 < n and n < 5.
      if (ordering && orders.has(sign)) refuse();
      ordering = orders.has(sign);
      const one = left;
      const other = this.binary(level + 1);
      const joined = (read) => join(sign, one, other, read);
      left = negated ? (read) => !joined(read) : joined;
    }
  }

  unary() {
    if (this.take("!", "not")) {
      const of = this.unary();
      return (read) => !truth(of(read));
    }
    if (this.take("-")) {
      const of = this.unary();
      return (read) => -number(of(read));
    }
    return this.fallback();
  }

  // ?? binds more tightly than every other operator.
  fallback() {
    let left = this.value();
    while (this.take("??")) {
      const one = left;
      const other = this.unary();
      left = (read) => one(read) ?? other(read);
    }
    return left;
  }

  value() {
    const next = this.list[this.at++] ?? refuse();
    if (next.sign === "(") {
      const inside = this.choice();
      this.need(")");
      return this.plain(inside);
    }
    if (next.sign === "[") {
      const items = [];
      while (!this.take("]")) {
        items.push(this.choice());
        if (!this.take(",")) {
          this.need("]");
          break;
        }
      }
      return this.plain((read) => items.map((item) => item(read)));
    }
    if ("value" in next) return this.plain(() => next.value);
    if (next.name === undefined) refuse();
    const known = { true: true, false: false, nil: null };
    if (next.name in known) return this.plain(() => known[next.name]);
    if (next.name === "len" && this.take("(")) {
      const of = this.choice();
      this.need(")");
      return this.plain((read) => length(of(read)));
    }
    let name = next.name;
    if (name === "inputs" && this.take(".")) name = (this.list[this.at++] ?? refuse()).name ?? refuse();
    return this.plain((read) => read(name));
  }

  // plain rejects what follows a value and is not known here: members, indexes and calls.
  plain(value) {
    if (["(", "[", ".", "?."].includes(this.list[this.at]?.sign)) refuse();
    return value;
  }
}

const fail = () => { throw new TypeError("not defined for these values"); };
const truth = (v) => (typeof v === "boolean" ? v : fail());
const number = (v) => (typeof v === "number" ? v : fail());
const text = (v) => (typeof v === "string" ? v : fail());
const length = (v) => (Array.isArray(v) ? v.length : [...text(v)].length);
const same = (a, b) => a === b || (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((v, i) => same(v, b[i])));
const ordered = (a, b, compare) => (typeof a === typeof b && ["number", "string"].includes(typeof a) ? compare(a, b) : fail());

function join(sign, left, right, read) {
  const a = left(read);
  if (sign === "&&" || sign === "and") return truth(a) && truth(right(read));
  if (sign === "||" || sign === "or") return truth(a) || truth(right(read));
  const b = right(read);
  switch (sign) {
    case "==": return same(a, b);
    case "!=": return !same(a, b);
    case "<": return ordered(a, b, (x, y) => x < y);
    case "<=": return ordered(a, b, (x, y) => x <= y);
    case ">": return ordered(a, b, (x, y) => x > y);
    case ">=": return ordered(a, b, (x, y) => x >= y);
    case "in": return Array.isArray(b) ? b.some((v) => same(v, a)) : fail();
    case "contains": return text(a).includes(text(b));
    case "startsWith": return text(a).startsWith(text(b));
    case "endsWith": return text(a).endsWith(text(b));
    case "+": return typeof a === "string" ? a + text(b) : number(a) + number(b);
    case "-": return number(a) - number(b);
    case "*": return number(a) * number(b);
  }
  return number(a) / number(b);
}
