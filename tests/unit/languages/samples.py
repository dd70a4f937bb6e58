"""One small hand-written source per language, and what must be found in it."""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    path: str
    text: str
    symbols: list[tuple[str, str, str]]  # (name, kind, parent)
    targets: list[str]


PYTHON = Sample(
    "pkg/mod.py",
    '''"""Module."""
from __future__ import annotations
import os, sys as system
from .sibling import one, two as deux
LIMIT: int = 3
A, B = 1, 2

@decorate
class Shop(Base):
    """Sells things."""
    size = 3

    async def open(self, hour: int = 9) -> bool:
        "Open it."
        import json
        local = 1
        return True

def close(): ...
''',
    [
        ("LIMIT", "constant", ""),
        ("A", "constant", ""),
        ("B", "constant", ""),
        ("Shop", "class", ""),
        ("size", "field", "Shop"),
        ("open", "method", "Shop"),
        ("close", "function", ""),
    ],
    [
        "__future__",
        "__future__.annotations",
        "os",
        "sys",
        ".sibling",
        ".sibling.one",
        ".sibling.two",
        "json",
    ],
)
JAVASCRIPT = Sample(
    "src/app.js",
    """import React, { useState } from 'react';
export { thing } from './thing.js';
const fs = require("fs");
// Adds numbers.
export function add(a, b) { const inner = 1; return a + b; }
const times = (a, b) => a * b, NAME = "x";
class Cart extends Base { #total = 0; push(item) {} static of() {} }
module.exports.run = function () {};
""",
    [
        ("fs", "constant", ""),
        ("add", "function", ""),
        ("NAME", "constant", ""),
        ("times", "function", ""),
        ("Cart", "class", ""),
        ("#total", "field", "Cart"),
        ("push", "method", "Cart"),
        ("of", "method", "Cart"),
        ("run", "function", ""),
    ],
    ["react", "./thing.js", "fs"],
)
TYPESCRIPT = Sample(
    "src/app.ts",
    """import type { A } from "./a";
export interface Shape { area(): number; name: string }
export type Id = string | number;
export enum Color { Red, Blue }
export abstract class Base { private x = 1; abstract go(): void; run(a: number): string { return ""; } }
export const make = async (id: Id): Promise<void> => {};
declare function outside(x: number): void;
namespace Space { export function inside() {} }
""",
    [
        ("Shape", "class", ""),
        ("area", "method", "Shape"),
        ("name", "field", "Shape"),
        ("Id", "type", ""),
        ("Color", "class", ""),
        ("Base", "class", ""),
        ("x", "field", "Base"),
        ("go", "method", "Base"),
        ("run", "method", "Base"),
        ("make", "function", ""),
        ("outside", "function", ""),
        ("Space", "module", ""),
        ("inside", "function", "Space"),
    ],
    ["./a"],
)
TSX = Sample(
    "src/App.tsx",
    """import * as React from "react";
export const App = ({ name }: Props) => <div>{name}</div>;
function Helper<T>(props: T) { return <App name="x" />; }
""",
    [("App", "function", ""), ("Helper", "function", "")],
    ["react"],
)
GO = Sample(
    "pkg/server/server.go",
    """package server

import (
	"fmt"
	log "example.com/x/log"
)

const Limit = 3

var (
	ErrA = fmt.Errorf("a")
	ErrB = fmt.Errorf("b")
)

// Server serves.
type Server struct {
	Name string
	Port int
}

type Handler interface { Handle(x int) error }

func (s *Server) Run(port int) error { local := 1; _ = local; return nil }

func New() *Server { return nil }
""",
    [
        ("Limit", "constant", ""),
        ("ErrA", "constant", ""),
        ("ErrB", "constant", ""),
        ("Server", "class", ""),
        ("Name", "field", "Server"),
        ("Port", "field", "Server"),
        ("Handler", "class", ""),
        ("Handle", "method", "Handler"),
        ("Run", "method", ""),
        ("New", "function", ""),
    ],
    ["fmt", "example.com/x/log"],
)
RUST = Sample(
    "src/store.rs",
    """use std::collections::{HashMap, BTreeMap as Tree};
use crate::disk;
/// Holds things.
#[derive(Debug)]
pub struct Store { pub items: Vec<u8>, size: usize }
pub enum Kind { One, Two(u8) }
pub trait Read { fn read(&self) -> u8; }
impl Read for Store { fn read(&self) -> u8 { 0 } }
pub const MAX: usize = 3;
static NAME: &str = "x";
type Pair = (u8, u8);
mod inner { pub fn deep() {} }
macro_rules! shout { () => {}; }
pub async fn run<T: Read>(x: T) -> u8 where T: Send { 0 }
""",
    [
        ("Store", "class", ""),
        ("items", "field", "Store"),
        ("size", "field", "Store"),
        ("Kind", "class", ""),
        ("One", "field", "Kind"),
        ("Two", "field", "Kind"),
        ("Read", "class", ""),
        ("read", "method", "Read"),
        ("Store", "class", ""),
        ("read", "method", "Store"),
        ("MAX", "constant", ""),
        ("NAME", "constant", ""),
        ("Pair", "type", ""),
        ("inner", "module", ""),
        ("deep", "function", "inner"),
        ("shout", "macro", ""),
        ("run", "function", ""),
    ],
    ["std::collections", "std::collections::HashMap", "std::collections::BTreeMap", "crate::disk"],
)
JAVA = Sample(
    "src/main/java/org/shop/Cart.java",
    """package org.shop;
import java.util.List;
import static org.shop.Util.*;
/** A cart. */
public class Cart<T> extends Base implements Box {
    private static final int MAX = 3;
    List<T> items;
    public Cart(int size) {}
    @Override public int size() throws Exception { int local = 1; return local; }
    enum State { OPEN, CLOSED }
    interface Inner { void go(); }
    record Point(int x, int y) {}
}
""",
    [
        ("Cart", "class", ""),
        ("MAX", "field", "Cart"),
        ("items", "field", "Cart"),
        ("Cart", "method", "Cart"),
        ("size", "method", "Cart"),
        ("State", "class", "Cart"),
        ("OPEN", "field", "State"),
        ("CLOSED", "field", "State"),
        ("Inner", "class", "Cart"),
        ("go", "method", "Inner"),
        ("Point", "class", "Cart"),
    ],
    ["java.util.List", "org.shop.Util"],
)
KOTLIN = Sample(
    "src/Cart.kt",
    """package org.shop
import java.util.Date
import org.shop.util.max as biggest
const val LIMIT = 3
data class Point(val x: Int, val y: Int)
class Cart(val name: String) : Base() {
    val items = mutableListOf<String>()
    fun add(item: String): Boolean { val local = 1; return true }
    companion object {
        fun of() = Cart("x")
    }
}
object Registry {
    fun find() {}
}
interface Box {
    fun open()
}
enum class State { OPEN, CLOSED }
typealias Name = String
fun String.shout(): String = uppercase()
""",
    [
        ("LIMIT", "constant", ""),
        ("Point", "class", ""),
        ("Cart", "class", ""),
        ("items", "field", "Cart"),
        ("add", "method", "Cart"),
        ("of", "method", "Cart"),
        ("Registry", "class", ""),
        ("find", "method", "Registry"),
        ("Box", "class", ""),
        ("open", "method", "Box"),
        ("State", "class", ""),
        ("OPEN", "field", "State"),
        ("CLOSED", "field", "State"),
        ("Name", "type", ""),
        ("shout", "function", ""),
    ],
    ["java.util.Date", "org.shop.util.max"],
)
C = Sample(
    "src/list.c",
    """#include <stdio.h>
#include "list.h"
#define MAX 3
#define SQUARE(x) ((x) * (x))
typedef struct node { int value; struct node *next; } node_t;
enum color { RED, BLUE };
static int counter = 0;
int declared(int a);
/* Adds a node. */
static node_t *add(node_t *list, int value) { int local = 1; return list; }
int main(int argc, char **argv) { return 0; }
""",
    [
        ("MAX", "macro", ""),
        ("SQUARE", "macro", ""),
        ("node_t", "type", ""),
        ("node", "class", ""),
        ("value", "field", "node"),
        ("color", "class", ""),
        ("RED", "field", "color"),
        ("BLUE", "field", "color"),
        ("counter", "constant", ""),
        ("declared", "function", ""),
        ("add", "function", ""),
        ("main", "function", ""),
    ],
    ["stdio.h", "list.h"],
)
CPP = Sample(
    "src/shop.cpp",
    """#include <vector>
#include "shop.hpp"
namespace shop {
template <typename T> class Cart : public Base {
 public:
  Cart();
  int size() const;
  T& front() { return items[0]; }
 private:
  int count;
};
using Name = std::string;
int Cart::size() const { return 1; }
std::string* find(int id) { return nullptr; }
bool operator==(const A& a, const A& b) { return true; }
}
""",
    [
        ("shop", "module", ""),
        ("Cart", "class", "shop"),
        ("Cart", "method", "Cart"),
        ("size", "method", "Cart"),
        ("front", "method", "Cart"),
        ("count", "field", "Cart"),
        ("Name", "type", "shop"),
        ("Cart::size", "function", "shop"),
        ("find", "function", "shop"),
        ("operator==", "function", "shop"),
    ],
    ["vector", "shop.hpp"],
)
CSHARP = Sample(
    "src/Cart.cs",
    """using System;
using Json = Newtonsoft.Json.Linq;
namespace Shop.Core {
    public interface IBox { void Open(); }
    public class Cart : IBox {
        private readonly int _max = 3;
        public string Name { get; set; }
        public event EventHandler Changed;
        public Cart(int size) {}
        public async Task<int> Size<T>(T x) where T : class { var local = 1; return local; }
    }
    public enum State { Open, Closed }
    public record Point(int X);
    public struct Pair { public int A; }
    public delegate void Done(int x);
}
""",
    [
        ("Shop.Core", "module", ""),
        ("IBox", "class", "Shop.Core"),
        ("Open", "method", "IBox"),
        ("Cart", "class", "Shop.Core"),
        ("_max", "field", "Cart"),
        ("Name", "field", "Cart"),
        ("Changed", "field", "Cart"),
        ("Cart", "method", "Cart"),
        ("Size", "method", "Cart"),
        ("State", "class", "Shop.Core"),
        ("Open", "field", "State"),
        ("Closed", "field", "State"),
        ("Point", "class", "Shop.Core"),
        ("Pair", "class", "Shop.Core"),
        ("A", "field", "Pair"),
        ("Done", "type", "Shop.Core"),
    ],
    ["System", "Newtonsoft.Json.Linq"],
)
RUBY = Sample(
    "lib/shop/cart.rb",
    """require 'json'
require_relative "../base"
module Shop
  LIMIT = 3
  # A cart.
  class Cart < Base
    attr_reader :items, :total
    def initialize(size)
      @size = size
    end
    def self.of(x) = new(x)
    def full?
      true
    end
  end
end
""",
    [
        ("Shop", "class", ""),
        ("LIMIT", "constant", "Shop"),
        ("Cart", "class", "Shop"),
        (":items", "field", "Cart"),
        (":total", "field", "Cart"),
        ("initialize", "method", "Cart"),
        ("of", "method", "Cart"),
        ("full?", "method", "Cart"),
    ],
    ["json", "../base"],
)
PHP = Sample(
    "src/Cart.php",
    """<?php
namespace Shop;
use Shop\\Base\\Box;
use Shop\\Util\\{One, Two as Deux};
require_once 'legacy.php';
const LIMIT = 3;
interface Openable { public function open(): void; }
trait Counts { private int $count = 0; }
final class Cart extends Base implements Openable {
    const MAX = 3;
    protected ?string $name = null;
    public function open(): void { $local = 1; }
    public static function of(int $x): self { return new self(); }
}
enum State: string { case Open = 'o'; }
function helper(array $x = []) { return 1; }
""",
    [
        ("LIMIT", "field", ""),
        ("Openable", "class", ""),
        ("open", "method", "Openable"),
        ("Counts", "class", ""),
        ("$count", "field", "Counts"),
        ("Cart", "class", ""),
        ("MAX", "field", "Cart"),
        ("$name", "field", "Cart"),
        ("open", "method", "Cart"),
        ("of", "method", "Cart"),
        ("State", "class", ""),
        ("Open", "field", "State"),
        ("helper", "function", ""),
    ],
    ["Shop\\Base\\Box", "Shop\\Util", "Shop\\Util\\One", "Shop\\Util\\Two", "legacy.php"],
)
SWIFT = Sample(
    "Sources/Cart.swift",
    """import Foundation
let limit = 3
protocol Openable { var isOpen: Bool { get }
    func open() throws }
struct Point { var x: Int }
/// A cart.
public class Cart: Openable {
    private var items: [String] = []
    init(size: Int) { let local = 1 }
    func open() throws -> Bool { return true }
}
enum State { case open, closed }
extension Cart { func close() {} }
typealias Name = String
func helper<T>(_ x: T) async -> T { x }
""",
    [
        ("limit", "constant", ""),
        ("Openable", "class", ""),
        ("isOpen", "field", "Openable"),
        ("open", "method", "Openable"),
        ("Point", "class", ""),
        ("x", "field", "Point"),
        ("Cart", "class", ""),
        ("items", "field", "Cart"),
        ("init", "method", "Cart"),
        ("open", "method", "Cart"),
        ("State", "class", ""),
        ("open", "field", "State"),
        ("closed", "field", "State"),
        ("Cart", "class", ""),
        ("close", "method", "Cart"),
        ("Name", "type", ""),
        ("helper", "function", ""),
    ],
    ["Foundation"],
)
BASH = Sample(
    "bin/build.sh",
    """#!/bin/bash
source ./lib.sh
. "env.sh"
LIMIT=3
export NAME="x"
# Builds it.
build() { local inner=1; echo hi; }
function clean { rm -rf out; }
""",
    [
        ("LIMIT", "constant", ""),
        ("NAME", "constant", ""),
        ("build", "function", ""),
        ("clean", "function", ""),
    ],
    ["./lib.sh", "env.sh"],
)

LUA = Sample(
    "lib/cart.lua",
    """-- A cart.
local price = require("shop.price")
local LIMIT = 3

--- Adds an item.
function Cart.add(self, item) return item end

local function total(items) local sum = 0 return sum end
""",
    [
        ("price", "constant", ""),
        ("LIMIT", "constant", ""),
        ("Cart.add", "function", ""),
        ("total", "function", ""),
    ],
    ["shop.price"],
)
SCALA = Sample(
    "src/Cart.scala",
    """package shop
import scala.collection.mutable.{Map, Set => Bag}
import shop.price._

/** A cart. */
class Cart(val size: Int) extends Base {
  val limit = 3
  def add(item: Item): Cart = this
}
trait Priced { def price: Int }
object Cart { def empty: Cart = new Cart(0) }
enum Kind { case Small, Large }
type Items = List[Item]
""",
    [
        ("Cart", "class", ""),
        ("limit", "field", "Cart"),
        ("add", "method", "Cart"),
        ("Priced", "class", ""),
        ("price", "method", "Priced"),
        ("Cart", "class", ""),
        ("empty", "method", "Cart"),
        ("Kind", "class", ""),
        ("Items", "type", ""),
    ],
    [
        "scala.collection.mutable",
        "scala.collection.mutable.Map",
        "scala.collection.mutable.Set",
        "shop.price",
    ],
)
SAMPLES = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TSX,
    "go": GO,
    "rust": RUST,
    "java": JAVA,
    "kotlin": KOTLIN,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    "ruby": RUBY,
    "php": PHP,
    "swift": SWIFT,
    "shell": BASH,
    "lua": LUA,
    "scala": SCALA,
}
